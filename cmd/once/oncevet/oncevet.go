// Package oncevet reads Go code that uses Once and reports handlers that are not safe to
// call twice. Each of its [Analyzers] is one rule. A finding has the reason, the possible
// harm and the correction. A line is accepted with a comment on it or above it, which names
// the rule and says why:
//
//	//oncevet:ignore effect the table ignores a second row
//
// # How far it sees
//
// It would rather miss a mistake than report correct code: it finds all 50 defects that are
// seeded in testdata, and reports none of the 64 near misses beside them. It follows a handler through
// functions and methods of the same package whose callee is known, and through variables
// and fields that are set there. Calls of interfaces and of other packages are not followed.
//
// Deletions are no finding, because a repetition deletes nothing more. Neither is an effect
// with a condition, a token, a downstream key, or a key that its function receives as a
// parameter, nor one under Config.MaxAttempts, after which a person decides.
package oncevet

import (
	"fmt"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Analyzers are all rules.
var Analyzers = []*analysis.Analyzer{
	rule("effect", "an effect that is in no step and no transaction, and carries no key", effects),
	rule("stepname", "the name of a step that repeats, is empty, or is data of the request", stepNames),
	rule("stepchoice", "steps that the time, chance or the order of a map decides on", stepChoices),
	rule("key", "a key that a redelivery changes", keys),
	rule("nestedkey", "a call within a call with the same executor and key", nestedKeys),
	rule("txafter", "a transaction that leaves its handler", transactions),
	rule("context", "context.Background in place of the handler's context", contexts),
	rule("permanent", "an error whose class is lost on its way out", classes),
	rule("executor", "an executor that each invocation makes anew", executors),
	rule("noresult", "a result or payload of which nothing is stored", results),
	rule("optimistic", "Config.Optimistic with a handler for which it is not made", optimistic),
	rule("durable", "a call around operations of a durable execution", durables),
}

// A report adds a finding, unless its line is accepted.
type report func(at token.Pos, format string, args ...any)

type place struct {
	file string
	line int
}

func rule(name, doc string, find func(*code, report)) *analysis.Analyzer {
	run := func(pass *analysis.Pass) (any, error) {
		accepted, seen := ignored(pass, name), map[token.Pos]bool{}
		find(pass.ResultOf[reader].(*code), func(at token.Pos, format string, args ...any) {
			line := pass.Fset.Position(at)
			if !seen[at] && !accepted[place{line.Filename, line.Line}] {
				seen[at] = true // two handlers can call one function
				pass.Report(analysis.Diagnostic{Pos: at, Category: name, Message: name + ": " + fmt.Sprintf(format, args...)})
			}
		})
		return nil, nil
	}
	return &analysis.Analyzer{Name: name, Doc: doc, Requires: []*analysis.Analyzer{reader}, Run: run}
}

// ignored returns the lines that comments accept for a rule: their own, and the next. A
// comment without a reason accepts nothing.
func ignored(pass *analysis.Pass, name string) map[place]bool {
	lines := map[place]bool{}
	for _, file := range pass.Files {
		for _, group := range file.Comments {
			for _, comment := range group.List {
				if words := strings.Fields(comment.Text); len(words) > 2 && words[0] == "//oncevet:ignore" && words[1] == name {
					p := pass.Fset.Position(comment.Pos())
					lines[place{p.Filename, p.Line}], lines[place{p.Filename, p.Line + 1}] = true, true
				}
			}
		}
	}
	return lines
}
