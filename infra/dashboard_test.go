package infra

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

type widget struct {
	Properties struct {
		Title    string
		Markdown string
		Metrics  [][]any
	}
}

// widgets reads the body of the dashboard, a text in which names of resources are
// left out.
func widgets(t *testing.T, deployed template.Template) []widget {
	t.Helper()
	body := ""
	for _, part := range only(t, deployed, "AWS::CloudWatch::Dashboard").Properties()["DashboardBody"].(map[string]any)["Fn::Join"].([]any)[1].([]any) {
		if text, ok := part.(string); ok {
			body += text
		}
	}
	var parsed struct{ Widgets []widget }
	if err := json.Unmarshal([]byte(body), &parsed); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return parsed.Widgets
}

// titles counts the widgets with each title.
func titles(t *testing.T, deployed template.Template) map[string]int {
	t.Helper()
	shown := map[string]int{}
	for _, w := range widgets(t, deployed) {
		if w.Properties.Title != "" {
			shown[w.Properties.Title]++
		}
	}
	return shown
}

func TestDashboard(t *testing.T) {
	stack := newStack()
	NewDashboard(stack, "Dashboard", &DashboardProps{
		Functions: watched(t, stack), Operations: []string{"pay", "refund"}, Relays: []*Relay{newRelay(t, stack, nil)},
	})
	deployed := synth(t, stack)
	check.Equal(t, titles(t, deployed), map[string]int{
		"Calls by outcome": 2, "Share of calls, percent": 2, "Needs a look": 2,
		"Added by idempotency, ms": 2, "Round trips to the store, mean of a call": 2, "Store": 2, "Refused, by reason": 2,
		"Errors and throttles": 2, "Given up: dead letters and failures": 2, "Behind the stream, ms": 2, // of the function and of the relay
		"Age of the oldest message, s": 1,
	})
	// Both graphs of outcomes show the calls that were cut off.
	cutOff := map[string]int{}
	for _, w := range widgets(t, deployed) {
		for _, metric := range w.Properties.Metrics {
			if slices.Contains(metric, any("timed out")) {
				cutOff[w.Properties.Title]++
			}
		}
	}
	check.Equal(t, cutOff, map[string]int{"Calls by outcome": 2, "Needs a look": 2})
}

// CloudWatch refuses a dashboard of more than 500 widgets. An operation has 8 of them.
func TestDashboardHasAtMost500Widgets(t *testing.T) {
	var operations []string
	for i := range 63 {
		operations = append(operations, fmt.Sprint("operation", i))
	}
	for words, some := range map[string][]string{"": operations[:62], "the dashboard has 504 widgets": operations} {
		wantRefusal(t, words, func() { NewDashboard(newStack(), "Dashboard", &DashboardProps{Operations: some}) })
	}
}
