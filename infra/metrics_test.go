package infra

import (
	"encoding/json"
	"maps"
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

// What the dashboard shows is written, and the reverse. The rule Emitted checks alarms.
func TestMetricsOfTheDashboardAreThoseOfTheObserver(t *testing.T) {
	stack := newStack()
	NewDashboard(stack, "Dashboard", &DashboardProps{Functions: watched(t, stack), Operations: []string{"pay"}})
	emitted, err := emitted()
	check.Must(t, err)
	shown := maps.Clone(emitted)
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
