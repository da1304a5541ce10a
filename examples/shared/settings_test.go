package main

import (
	"errors"
	"strings"
	"testing"

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
			f := lambdaruntime.StartTest(t, lambdaruntime.Function{Name: "shared", Binary: binary, Env: append(awsEnv(),
				"IDEMPOTENCY_TABLE=records", "POWERTOOLS_DIALECT=typescript", "POWERTOOLS_PREFIX=pay", "SHARED_TABLE=executions", setting)})
			_, err := ask(t.Context(), f, `{}`)
			failed, ok := errors.AsType[*lambdaruntime.InitError](err)
			if !ok || failed.Status != "exit status 1" || !strings.Contains(failed.Output, want) {
				t.Errorf("got %v, want a failure that says %s", err, want)
			}
		})
	}
}
