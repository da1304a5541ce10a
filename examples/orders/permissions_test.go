package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// The policy allows the calls of the function, in all cases of a message, and no more.
// infra compares this policy with that of the CDK app.
func TestPolicyAllowsWhatTheFunctionCalls(t *testing.T) {
	seen := newTap(t)
	var called []string
	functions := map[string]func(f function){
		"ORDERS_DELAY=0s": func(f function) { // new, delivered again, alone, and alone again
			for _, batch := range [][]message{orders(0, 10), orders(0, 10), orders(10, 11), orders(10, 11)} {
				if got, err := deliver(t.Context(), f, batch...); err != nil || got != allPlaced {
					t.Errorf("%s, %v", got, err)
				}
			}
		},
		"ORDERS_TABLE=nowhere": func(f function) { // so that every handler fails
			for _, batch := range [][]message{orders(0, 10), orders(0, 1)} {
				if got, err := deliver(t.Context(), f, batch...); err != nil || strings.Count(got, "itemIdentifier") != len(batch) {
					t.Errorf("%s, %v", got, err)
				}
			}
		},
		"ORDERS_DELAY=2s": func(f function) { f.deliverDuplicates(t) },
	}
	for env, use := range functions {
		f := deploy(t, 0, "AWS_ENDPOINT_URL_DYNAMODB="+seen.URL(), env)
		use(f)
		for _, r := range seen.about(f.records) {
			called = append(called, actions(r)...)
		}
	}
	slices.Sort(called)
	called = slices.Compact(called)
	check.Slice(t, called, policy(t), "the function calls", "its policy allows")
}

// policy returns the sorted actions on the records that template.yaml allows the
// function.
func policy(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../template.yaml")
	check.Must(t, err)
	_, function, _ := strings.Cut(string(text), "\n  OrdersFunction:\n")
	m := regexp.MustCompile(`Action:[^[]*\[([^]]*)\]\s+Resource: !GetAtt Idempotency\.Arn`).FindStringSubmatch(function)
	if m == nil {
		t.Fatal("template.yaml allows OrdersFunction nothing")
	}
	actions := strings.Fields(strings.ReplaceAll(m[1], ",", " "))
	slices.Sort(actions)
	return actions
}
