package mutants

import (
	"fmt"
	"regexp"
	"strings"
)

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
