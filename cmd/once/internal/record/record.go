// Package record shows records as an operator sees them, and says what may be done about each.
package record

import (
	"maps"
	"slices"
	"strings"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/form"
)

type Record struct {
	driver.Entry
	steps   []Step
	undoing bool // the call has failed for good
}

// New returns the record of an entry. It reads the steps, and from those of package idempotent which are undone.
func New(e driver.Entry) *Record {
	r := &Record{Entry: e}
	for _, name := range slices.Sorted(maps.Keys(e.Steps)) {
		switch {
		case name == form.FailureStep:
			r.undoing = true
		case name == form.BudgetStep, strings.HasPrefix(name, form.UndoStep):
		default:
			s := newStep(name, e.Steps[name])
			if _, undone := e.Steps[form.UndoStep+name]; undone {
				s.Undo = "done"
			}
			r.steps = append(r.steps, s)
		}
	}
	return r
}

// Operation returns the first part of the id. In records of Powertools it is the
// name of a function.
func (r *Record) Operation() string { return r.ID[:max(strings.Index(r.ID, "#"), 0)] }

// NeverExpires reports whether the record stays for ever, as those of operations
// with MaxAttempts do.
func (r *Record) NeverExpires() bool { return r.Expires.IsZero() || r.Expires.UTC().Year() >= 9999 }

// foreign reports whether a different library wrote the record: it has neither owner nor
// attempt.
func (r *Record) foreign() bool { return r.Owner == "" && r.Attempt == 0 }
