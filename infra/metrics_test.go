package infra

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

// emitted returns the metrics that the observer writes: a name with the names of one set of
// dimensions. A program of the root module prints them, so that this module does not require
// that one.
func emitted(t *testing.T) map[string]bool {
	t.Helper()
	program := filepath.Join(t.TempDir(), "main.go")
	check.Must(t, os.WriteFile(program, []byte(`package main

import (
	"encoding/json"
	"os"

	"github.com/lambda-once/once/idempotent/emf"
)

func main() {
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"Metrics": emf.Metrics(), "Namespace": emf.Namespace}); err != nil {
		panic(err)
	}
}
`), 0o644))
	run := exec.CommandContext(t.Context(), "go", "run", program)
	run.Dir, run.Stderr = "..", os.Stderr
	out, err := run.Output()
	check.Must(t, err)
	var written struct {
		Metrics []struct {
			Name       string
			Dimensions []string
		}
		Namespace string
	}
	check.Must(t, json.Unmarshal(out, &written))
	all := map[string]bool{}
	for _, m := range written.Metrics {
		all[described(written.Namespace, m.Name, m.Dimensions)] = true
	}
	return all
}

func described(namespace, name string, dimensions []string) string {
	return namespace + " " + name + " by " + strings.Join(slices.Sorted(slices.Values(dimensions)), ", ")
}

// What the dashboard shows is written, and the reverse. The rule Emitted checks alarms.
func TestMetricsOfTheDashboardAreThoseOfTheObserver(t *testing.T) {
	stack := newStack()
	NewDashboard(stack, "Dashboard", &DashboardProps{Functions: watched(t, stack), Operations: []string{"pay"}})
	shown := emitted(t)
	delete(shown, described(Namespace, "OldestAbandoned", []string{"operation"})) // of operations with a resumer, and NewResume has its alarm
	check.Equal(t, onDashboard(t, synth(t, stack)), shown)
}

// The dashboard has a line for each outcome and each reason of the core.
func TestDimensionsAreThoseOfTheCore(t *testing.T) {
	code, err := os.ReadFile("../idempotent/event.go")
	check.Must(t, err)
	for kind, got := range map[string][]string{"Outcome": catalog.Outcomes, "Refusal": catalog.Reasons} {
		var want []string
		for _, m := range regexp.MustCompile(`(?m)^\t`+kind+`\w+\s+`+kind+` = "(.*)"$`).FindAllSubmatch(code, -1) {
			want = append(want, string(m[1]))
		}
		check.Equal(t, got, want, kind)
	}
}

// onDashboard returns the metrics of our namespace. There a metric is a list: namespace,
// name, the names and values of dimensions in turn, and options.
func onDashboard(t *testing.T, deployed template.Template) map[string]bool {
	t.Helper()
	used := map[string]bool{}
	for _, w := range widgets(t, deployed) {
		for _, metric := range w.Properties.Metrics {
			if metric[0] != Namespace {
				continue
			}
			var dimensions []string
			for i := 2; i+1 < len(metric); i += 2 {
				dimensions = append(dimensions, metric[i].(string))
			}
			used[described(Namespace, metric[1].(string), dimensions)] = true
		}
	}
	return used
}

// having is a function that states its operations.
func having(t *testing.T, stack awscdk.Stack, id string, operations ...string) *IdempotentFunction {
	t.Helper()
	return NewIdempotentFunction(stack, id, &IdempotentFunctionProps{
		Code: zip(t), Operations: operations, Table: NewIdempotencyTable(stack, id+"Table", nil),
	})
}

// An alarm on a name that is misspelt never rings.
func TestUnknownOperationIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		operations []string
		functions  func(awscdk.Stack) []*IdempotentFunction
		words      string
	}{
		"misspelt": {[]string{"pya"}, func(s awscdk.Stack) []*IdempotentFunction {
			return []*IdempotentFunction{having(t, s, "Payments", "pay")}
		}, `Operations: no function with metrics states "pya"; they state ["pay"]`},
		"of the grant": {[]string{"pay", "refund", "pya"}, func(s awscdk.Stack) []*IdempotentFunction {
			return []*IdempotentFunction{newFunction(t, s, func(p *IdempotentFunctionProps) {
				p.Execute = &ExecuteOptions{Operations: []string{"pay", "refund"}}
			})}
		}, `no function with metrics states "pya"`},
		"right": {[]string{"pay", "order"}, func(s awscdk.Stack) []*IdempotentFunction {
			return []*IdempotentFunction{having(t, s, "Payments", "refund", "pay"), having(t, s, "Orders", "order")}
		}, ""},
		"with a function that states none": {[]string{"pya"}, func(s awscdk.Stack) []*IdempotentFunction {
			return []*IdempotentFunction{having(t, s, "Payments", "pay"), having(t, s, "Orders")}
		}, ""},
		"without functions": {[]string{"pya"}, func(awscdk.Stack) []*IdempotentFunction { return nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			functions := c.functions(stack)
			wantRefusal(t, c.words, func() { NewAlarms(stack, "Alarms", &AlarmsProps{Functions: functions, Operations: c.operations}) })
			wantRefusal(t, c.words, func() {
				NewDashboard(stack, "Dashboard", &DashboardProps{Functions: functions, Operations: c.operations})
			})
		})
	}
}

// The operations of functions need not be repeated.
func TestAlarmsAndDashboardWatchTheOperationsOfFunctions(t *testing.T) {
	stack := newStack()
	functions := []*IdempotentFunction{having(t, stack, "Payments", "pay", "refund"), having(t, stack, "More", "refund")}
	NewAlarms(stack, "Alarms", &AlarmsProps{Functions: functions})
	NewDashboard(stack, "Dashboard", &DashboardProps{Functions: functions})
	deployed := synth(t, stack)
	var names []string
	for _, id := range deployed.IDs(alarmType) {
		if name, found := strings.CutSuffix(strings.TrimPrefix(id, "Alarms"), "LeaseLost"); found {
			names = append(names, name)
		}
	}
	check.Equal(t, names, []string{"pay", "refund"})
	check.Equal(t, titles(t, deployed)["Calls by outcome"], 2)
}
