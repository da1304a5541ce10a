package mutants

import (
	"fmt"
	"regexp"
	"strings"
)

// Cells makes a mutant of every cell and every flag of the policies in source,
// the text of idempotent/internal/protocol/policies.go: one ruling, flag or limit is replaced.
// A table that no test pins cell by cell is one that a change alters by
// accident.
func Cells(source string) []Mutant {
	var all []Mutant
	for _, table := range policy.FindAllStringSubmatch(source, -1) {
		name := table[1]
		for _, cell := range setting.FindAllStringSubmatch(table[0], -1) {
			field, value := cell[1], cell[2]
			other, ok := instead[value]
			if !ok {
				continue
			}
			all = append(all, Mutant{
				Name:    "policy-" + name + "-" + field,
				Guard:   fmt.Sprintf("%s: %s is %s, and not %s", name, field, value, other),
				In:      "idempotent/internal/protocol " + name,
				Package: "idempotent/internal/protocol",
				Test:    "TestEveryPolicyIsPinned",
				Old:     field + ": " + value,
				New:     field + ": " + other,
			})
		}
	}
	return all
}

var (
	policy  = regexp.MustCompile(`(?s)\t(\w+) = Policy\{.*?\n?\}\n`)
	setting = regexp.MustCompile(`(\w+): (30 \* time\.Second|\w+)`)
)

// instead has a different value for each cell, flag and limit.
var instead = map[string]string{
	"true": "false", "1": "2", "maxReleases": "maxReleases + 1", "30 * time.Second": "time.Hour",
	"Again": "Yield", "Adopt": "Yield", "Recreate": "Yield", "Landed": "Yield",
	"Another": "Again", "Done": "Again", "NotWritten": "Again", "TakeTheirs": "Again", "Vanished": "Again", "Yield": "Again",
}

// Cases makes a mutant of every case of the plan after a run in source, the text of
// idempotent/internal/protocol/settle.go: one case never holds. The test of the
// promises alone has to notice each, because a wrong plan may also be an endless
// loop.
func Cases(source string) []Mutant {
	var all []Mutant
	for _, function := range settling.FindAllStringSubmatch(source, -1) {
		name := function[1]
		in := "idempotent/internal/protocol " + name
		if name == "Settle" {
			in = "idempotent/internal/protocol Mode.Settle"
		}
		for i, c := range oneCase.FindAllStringSubmatch(function[0], -1) {
			all = append(all, Mutant{
				Name:    fmt.Sprintf("plan-%s-%d", name, i+1),
				Guard:   "the plan in the case " + c[1],
				In:      in,
				Package: "idempotent/internal/protocol",
				Test:    "TestSettlePromises",
				Old:     "case " + c[1] + ":",
				New:     "case false && (" + strings.ReplaceAll(c[1], ",", " ||") + "):",
			})
		}
	}
	return all
}

var (
	settling = regexp.MustCompile(`(?s)\nfunc (?:\(m Mode\) )?(\w+)\(r Run\) Plan \{.*?\n\}\n`)
	oneCase  = regexp.MustCompile(`\tcase ([^\n]+):\n`)
)
