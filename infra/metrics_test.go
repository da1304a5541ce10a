package infra

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/infra/internal/template"
)

// emitted are the metrics that the observer writes, as emf.Metrics gives them:
// a name with the names of one set of dimensions.
func emitted() map[string]bool {
	all := map[string]bool{}
	for _, m := range []struct {
		Name, Unit string
		Dimensions []string
	}{
		{"Calls", "Count", []string{"operation"}},
		{"Calls", "Count", []string{"operation", "outcome"}},
		{"Overhead", "Milliseconds", []string{"operation"}},
		{"RoundTrips", "Count", []string{"operation"}},
		{"StoreErrors", "Count", []string{"operation"}},
		{"StoreThrottles", "Count", []string{"operation"}},
	} {
		all[described(m.Name, m.Dimensions)] = true
	}
	return all
}

func described(name string, dimensions []string) string {
	return name + " by " + strings.Join(slices.Sorted(slices.Values(dimensions)), ", ")
}

// What nobody writes is an alarm that never rings. What nobody looks at need
// not be written.
func TestMetricsAreThoseOfTheObserver(t *testing.T) {
	stack := newStack()
	f := watched(t, stack)
	NewAlarms(stack, "Alarms", &AlarmsProps{Functions: f, Operations: []string{"pay"}})
	NewDashboard(stack, "Dashboard", &DashboardProps{Functions: f, Operations: []string{"pay"}})
	deployed := synth(t, stack)

	alarms, board := inAlarms(deployed), inDashboard(t, only(t, deployed, "AWS::CloudWatch::Dashboard"))
	for name, used := range map[string]map[string]bool{"alarms": alarms, "dashboard": board} {
		if len(used) == 0 {
			t.Errorf("%s: no metric of ours", name)
		}
		for metric := range used {
			if !emitted()[metric] {
				t.Errorf("%s: %s is not written by the observer", name, metric)
			}
		}
	}
	for metric := range emitted() {
		if !board[metric] {
			t.Errorf("%s is not on the dashboard", metric)
		}
	}
}

// inAlarms gives the metrics of our namespace in alarms.
func inAlarms(deployed template.Template) map[string]bool {
	used := map[string]bool{}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if v["Namespace"] == Namespace {
				var dimensions []string
				for _, d := range v["Dimensions"].([]any) {
					dimensions = append(dimensions, d.(map[string]any)["Name"].(string))
				}
				used[described(v["MetricName"].(string), dimensions)] = true
			}
			for _, value := range v {
				walk(value)
			}
		case []any:
			for _, value := range v {
				walk(value)
			}
		}
	}
	for _, alarm := range deployed.Resources("AWS::CloudWatch::Alarm") {
		walk(alarm.Properties())
	}
	return used
}

// inDashboard gives those on a dashboard. There a metric is a list: namespace,
// name, the names and values of dimensions in turn, and options.
func inDashboard(t *testing.T, board template.Resource) map[string]bool {
	t.Helper()
	used := map[string]bool{}
	for _, w := range widgets(t, board) {
		for _, metric := range w.Properties.Metrics {
			if metric[0] != Namespace {
				continue
			}
			var dimensions []string
			for i := 2; i+1 < len(metric); i += 2 {
				dimensions = append(dimensions, metric[i].(string))
			}
			used[described(metric[1].(string), dimensions)] = true
		}
	}
	return used
}

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
		"Added by idempotency, ms": 2, "Round trips to DynamoDB, mean of a call": 2, "Store": 2,
		"Given up: dead letters and failures": 1, "Age of the oldest message, s": 1, "Behind the stream, ms": 1,
	}
	if !maps.Equal(shown, want) {
		t.Errorf("got %v", shown)
	}
}

func TestWatchingRefuses(t *testing.T) {
	for words, construct := range map[string]func(){
		"nothing to watch":            func() { NewAlarms(newStack(), "A", nil) },
		"ConflictPercent: 101 is not": func() { NewAlarms(newStack(), "A", &AlarmsProps{ConflictPercent: 101, Operations: []string{"a"}}) },
		"nothing to show":             func() { NewDashboard(newStack(), "D", nil) },
		`"a" is empty or there twice`: func() { NewAlarms(newStack(), "A", &AlarmsProps{Operations: []string{"a", "a"}}) },
		`"" is empty or there twice`:  func() { NewDashboard(newStack(), "D", &DashboardProps{Operations: []string{""}}) },
		"Functions: one is nil":       func() { NewDashboard(newStack(), "D", &DashboardProps{Functions: []*IdempotentFunction{nil}}) },
		`two have the id "Function"`: func() {
			f := watched(t, newStack())[0]
			NewAlarms(newStack(), "A", &AlarmsProps{Functions: []*IdempotentFunction{f, f}})
		},
		"Takeovers: -1 is negative":     func() { NewAlarms(newStack(), "A", &AlarmsProps{Takeovers: -1, Operations: []string{"a"}}) },
		"QueueAge: -1ns is negative":    func() { NewAlarms(newStack(), "A", &AlarmsProps{QueueAge: -1, Operations: []string{"a"}}) },
		"IteratorAge: -1ns is negative": func() { NewAlarms(newStack(), "A", &AlarmsProps{IteratorAge: -1, Operations: []string{"a"}}) },
	} {
		t.Run(words, func(t *testing.T) { wantRefusal(t, words, construct) })
	}
}
