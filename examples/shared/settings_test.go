package main

import (
	"testing"

	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// A function with a wrong configuration fails before it receives an event.
func TestSettings(t *testing.T) {
	for setting, want := range map[string]string{
		"AWS_LAMBDA_LOG_LEVEL=LOUD":     "AWS_LAMBDA_LOG_LEVEL",
		"IDEMPOTENCY_TABLE=":            "IDEMPOTENCY_TABLE is not set",
		"POWERTOOLS_DIALECT=rust":       "POWERTOOLS_DIALECT",
		"POWERTOOLS_KEY=id[":            "POWERTOOLS_KEY",
		"POWERTOOLS_PREFIX=":            "the prefix is empty",
		"POWERTOOLS_VALIDATION=[amount": "POWERTOOLS_VALIDATION",
		"SHARED_DELAY=soon":             "SHARED_DELAY",
		"SHARED_TABLE=":                 "SHARED_TABLE is not set",
	} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			f := deployed.Start(t, lambdaruntime.Function{Name: "shared"},
				"IDEMPOTENCY_TABLE=records", "POWERTOOLS_DIALECT=typescript", "POWERTOOLS_PREFIX=pay", "SHARED_TABLE=executions", setting)
			deployed.FailsToStart(t, f, want)
		})
	}
}
