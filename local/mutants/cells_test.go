package mutants

import (
	"os"
	"path/filepath"
	"testing"
)

func TestEveryCellOfThePoliciesHasAMutant(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(root, "idempotent", "policies.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range Cells(string(source)) {
		if changed, err := m.Apply(string(source)); err != nil || changed == string(source) {
			t.Errorf("%s: %v", m.Name, err)
		}
		names[m.Name] = true
	}
	for _, name := range []string{"policy-finishing-abandoned", "policy-stepping-refusedFor", "policy-committingAlone-unfenced", "policy-releasing-outages"} {
		if !names[name] {
			t.Errorf("there is no %s", name)
		}
	}
	// Eight tables of seven cells, and what else is set.
	if len(names) < 8*7+15 {
		t.Errorf("there are %d", len(names))
	}
}
