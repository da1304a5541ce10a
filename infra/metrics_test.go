package infra

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

// emitted are the metrics that the observer writes: a name with the names of
// one set of dimensions. A program of the root module prints them, so that this
// module does not require that one.
var emitted = sync.OnceValues(func() (map[string]bool, error) {
	folder, err := os.MkdirTemp("", "once-emf")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	program := filepath.Join(folder, "main.go")
	if err := os.WriteFile(program, []byte(`package main

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
`), 0o644); err != nil {
		return nil, err
	}
	run := exec.Command("go", "run", program)
	run.Dir, run.Stderr = "..", os.Stderr
	out, err := run.Output()
	if err != nil {
		return nil, err
	}
	var written struct {
		Metrics []struct {
			Name       string
			Dimensions []string
		}
		Namespace string
	}
	if err := json.Unmarshal(out, &written); err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, m := range written.Metrics {
		all[described(written.Namespace, m.Name, m.Dimensions)] = true
	}
	return all, nil
})

func described(namespace, name string, dimensions []string) string {
	return namespace + " " + name + " by " + strings.Join(slices.Sorted(slices.Values(dimensions)), ", ")
}

// An alarm on a metric that is not written never rings. A metric that is not shown
// need not be written.
func TestMetricsAreThoseOfTheObserver(t *testing.T) {
	stack := newStack()
	f := watched(t, stack)
	NewAlarms(stack, "Alarms", &AlarmsProps{Functions: f, Operations: []string{"pay"}})
	NewDashboard(stack, "Dashboard", &DashboardProps{Functions: f, Operations: []string{"pay"}})
	deployed := synth(t, stack)

	emitted, err := emitted()
	check.Must(t, err)
	alarms, board := inAlarms(deployed), inDashboard(t, deployed)
	for name, used := range map[string]map[string]bool{"alarms": alarms, "dashboard": board} {
		if len(used) == 0 {
			t.Errorf("%s: no metric of ours", name)
		}
		for metric := range used {
			if !emitted[metric] {
				t.Errorf("%s: %s is not written by the observer", name, metric)
			}
		}
	}
	for metric := range emitted {
		if !board[metric] {
			t.Errorf("%s is not on the dashboard", metric)
		}
	}
}

// The dashboard has a line for each outcome and each reason of the core.
func TestDimensionsAreThoseOfTheCore(t *testing.T) {
	code, err := os.ReadFile("../idempotent/event.go")
	check.Must(t, err)
	for kind, got := range map[string][]string{"Outcome": outcomes, "Refusal": reasons} {
		var want []string
		for _, m := range regexp.MustCompile(`(?m)^\t`+kind+`\w+\s+`+kind+` = "(.*)"$`).FindAllSubmatch(code, -1) {
			want = append(want, string(m[1]))
		}
		check.Equal(t, got, want, kind)
	}
}

// inAlarms returns the metrics of our namespace in alarms.
func inAlarms(deployed template.Template) map[string]bool {
	used := map[string]bool{}
	for _, alarm := range deployed.Resources(alarmType) {
		for _, v := range template.Values(alarm.Properties()) {
			if metric, ok := v.(map[string]any); ok && metric["Namespace"] == Namespace {
				var dimensions []string
				for _, d := range metric["Dimensions"].([]any) {
					dimensions = append(dimensions, d.(map[string]any)["Name"].(string))
				}
				used[described(Namespace, metric["MetricName"].(string), dimensions)] = true
			}
		}
	}
	return used
}

// inDashboard returns those on a dashboard. There a metric is a list: namespace,
// name, the names and values of dimensions in turn, and options.
func inDashboard(t *testing.T, deployed template.Template) map[string]bool {
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
