package mutants

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryCellOfThePoliciesHasAMutant(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(root, "idempotent", "internal", "protocol", "policies.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range Cells(string(source)) {
		if _, _, err := m.Apply(root); err != nil {
			t.Error(err)
		}
		names[m.Name] = true
	}
	for _, name := range []string{"policy-Finishing-Abandoned", "policy-Stepping-refusedFor", "policy-CommittingAlone-unfenced", "policy-Releasing-outages"} {
		if !names[name] {
			t.Errorf("there is no %s", name)
		}
	}
	// Eleven tables of seven cells, and what else is set.
	if len(names) < 11*7+21 {
		t.Errorf("there are %d", len(names))
	}
}

func TestEveryCaseOfThePlanHasAMutant(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(root, "idempotent", "internal", "protocol", "settle.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := Cases(string(source))
	for _, m := range all {
		if _, _, err := m.Apply(root); err != nil {
			t.Error(err)
		}
	}
	if cases := strings.Count(string(source), "\tcase "); len(all) != cases || cases < 17 {
		t.Errorf("%d mutants of %d cases", len(all), cases)
	}
}
