package infra

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/lambda-once/once/infra/internal/template"
)

type widget struct {
	Properties struct {
		Title    string
		Markdown string
		Metrics  [][]any
	}
}

// widgets reads a dashboard's body, a text in which names of resources are
// left out.
func widgets(t *testing.T, board template.Resource) []widget {
	t.Helper()
	body := ""
	for _, part := range board.Properties()["DashboardBody"].(map[string]any)["Fn::Join"].([]any)[1].([]any) {
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

func TestDashboard(t *testing.T) {
	stack := newStack()
	NewDashboard(stack, "Dashboard", &DashboardProps{Functions: watched(t, stack), Operations: []string{"pay", "refund"}})
	shown := map[string]int{}
	for _, w := range widgets(t, only(t, synth(t, stack), "AWS::CloudWatch::Dashboard")) {
		if w.Properties.Title != "" {
			shown[w.Properties.Title]++
		}
	}
	want := map[string]int{
		"Calls by outcome": 2, "Share of calls, percent": 2, "Needs a look": 2,
		"Added by idempotency, ms": 2, "Round trips to DynamoDB, mean of a call": 2, "Store": 2, "Refused, by reason": 2,
		"Errors and throttles of the function": 1,
		"Given up: dead letters and failures":  1, "Age of the oldest message, s": 1, "Behind the stream, ms": 1,
	}
	if !maps.Equal(shown, want) {
		t.Errorf("got %v", shown)
	}
}

func TestWatchingRefuses(t *testing.T) {
	for words, construct := range map[string]func(){
		"nothing to watch":             func() { NewAlarms(newStack(), "A", nil) },
		"ConflictPercent: 101 is not":  func() { NewAlarms(newStack(), "A", &AlarmsProps{ConflictPercent: 101, Operations: []string{"a"}}) },
		"nothing to show":              func() { NewDashboard(newStack(), "D", nil) },
		`"a" is empty or listed twice`: func() { NewAlarms(newStack(), "A", &AlarmsProps{Operations: []string{"a", "a"}}) },
		`"" is empty or listed twice`:  func() { NewDashboard(newStack(), "D", &DashboardProps{Operations: []string{""}}) },
		`"zahlen-für" is not ASCII`:    func() { NewAlarms(newStack(), "A", &AlarmsProps{Operations: []string{"zahlen-für"}}) },
		"Functions: one is nil":        func() { NewDashboard(newStack(), "D", &DashboardProps{Functions: []*IdempotentFunction{nil}}) },
		`two have the id "Function"`: func() {
			f := watched(t, newStack())[0]
			NewAlarms(newStack(), "A", &AlarmsProps{Functions: []*IdempotentFunction{f, f}})
		},
		"Takeovers: -1 is negative":     func() { NewAlarms(newStack(), "A", &AlarmsProps{Takeovers: -1, Operations: []string{"a"}}) },
		"Errors: -1 is negative":        func() { NewAlarms(newStack(), "A", &AlarmsProps{Errors: -1, Operations: []string{"a"}}) },
		"QueueAge: -1ns is negative":    func() { NewAlarms(newStack(), "A", &AlarmsProps{QueueAge: -1, Operations: []string{"a"}}) },
		"IteratorAge: -1ns is negative": func() { NewAlarms(newStack(), "A", &AlarmsProps{IteratorAge: -1, Operations: []string{"a"}}) },
	} {
		t.Run(words, func(t *testing.T) { wantRefusal(t, words, construct) })
	}
}

// Both graphs of outcomes show the calls that were cut off.
func TestDashboardShowsHandlersThatTimedOut(t *testing.T) {
	stack := newStack()
	NewDashboard(stack, "Dashboard", &DashboardProps{Operations: []string{"pay"}})
	shown := map[string]bool{}
	for _, w := range widgets(t, only(t, synth(t, stack), "AWS::CloudWatch::Dashboard")) {
		for _, metric := range w.Properties.Metrics {
			shown[w.Properties.Title] = shown[w.Properties.Title] || slices.Contains(metric, any("timed out"))
		}
	}
	if !shown["Calls by outcome"] || !shown["Needs a look"] {
		t.Errorf("got %v", shown)
	}
}
