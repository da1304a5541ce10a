package infra

import (
	"slices"
	"strings"

	"github.com/aws/constructs-go/constructs/v10"

	"github.com/lambda-once/once/infra/internal/appcheck"
)

// A Finding is a fact of the synthesized app with which a protected function would lose an
// event, repeat an effect or be refused by AWS.
type Finding struct {
	Fact  string // its name, for [Accept]
	Path  string // of the construct
	Value string // what the app has
	Fix   string // what to do
}

func (f Finding) String() string { return appcheck.Finding(f).String() }

// Check returns the findings of all functions of an app that [NewIdempotentFunction] creates or
// [Protect] connects. It reads the mappings, queues, streams, tables, functions and alarms of the
// app, whoever made them, and none of an import, whose parts stay unchecked. Synthesis
// makes the same check, and fails with all findings at once.
func Check(app constructs.IConstruct) (found []Finding) {
	for _, f := range appcheck.Check(app) {
		found = append(found, Finding(f))
	}
	return found
}

// Accept lets a construct have a fact for which synthesis would fail. The reason stands in the
// metadata of its resource in the template.
//
// Accept panics with a [*PropsError] for a fact that does not exist, without a reason, and for
// a construct that is no resource of the app.
func Accept(construct constructs.IConstruct, fact, reason string) {
	var found problems
	found.when(construct == nil, "construct: it is nil")
	found.when(!slices.Contains(appcheck.Facts(), fact), "fact: %q is none of the check", fact)
	found.when(strings.TrimSpace(reason) == "", "reason: it is required, and stands in the template")
	found.panic(construct, "")
	found.when(!appcheck.Accept(construct, fact, reason), "construct: it is no resource of the app")
	found.panic(construct, "")
}
