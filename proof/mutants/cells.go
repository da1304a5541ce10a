package mutants

import (
	"fmt"
	"regexp"
)

// Cells makes a mutant of every cell and every flag of the policies in source,
// the text of idempotent/internal/protocol/policies.go: one ruling, flag or limit is replaced.
// A table that no test pins cell by cell is one that a change alters by
// accident.
func Cells(source string) []Mutant {
	var all []Mutant
	for _, at := range policy.FindAllStringSubmatchIndex(source, -1) {
		name := source[at[2]:at[3]]
		body := source[at[0]:at[1]]
		for _, cell := range setting.FindAllStringSubmatchIndex(body, -1) {
			field, value := body[cell[2]:cell[3]], body[cell[4]:cell[5]]
			other, ok := instead(value)
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

// instead returns another value for a cell, a flag or a limit.
func instead(value string) (string, bool) {
	switch value {
	case "true":
		return "false", true
	case "1":
		return "2", true
	case "maxReleases":
		return "maxReleases + 1", true
	case "30 * time.Second":
		return "time.Hour", true
	case "Again", "Adopt", "Recreate", "Landed":
		return "Yield", true
	case "Another", "Done", "NotWritten", "TakeTheirs", "Vanished", "Yield":
		return "Again", true
	}
	return "", false
}
