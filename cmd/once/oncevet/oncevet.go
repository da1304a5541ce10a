package oncevet

import (
	"fmt"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Analyzers are all rules, in the order of the package's documentation.
var Analyzers = []*analysis.Analyzer{
	rule("effect", "report effects in a handler that a second attempt repeats", effects),
	rule("stepname", "report names of steps that repeat, are empty or come from data", stepNames),
	rule("stepchoice", "report steps that the time, chance or the order of a map decides on", stepChoices),
	rule("key", "report keys that differ between two deliveries of one request", keys),
	rule("nestedkey", "report calls on the key of the call that they are part of", nestedKeys),
	rule("txafter", "report transactions that leave their handler", transactions),
	rule("context", "report contexts that are not those of the handler", contexts),
	rule("permanent", "report permanent errors that lose their class", classes),
	rule("executor", "report executors that each invocation makes anew", executors),
	rule("noresult", "report results and payloads without an exported field", results),
	rule("optimistic", "report optimistic executors whose handlers are not made for it", optimistic),
	rule("durable", "report calls around operations of a durable execution", durables),
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
