// Package record shows records to an operator, with the actions that each allows.
package record

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lambda-once/once/cmd/once/internal/cli"
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

type Step struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
	// Kept is where its result is: "result" for in the record. An "internal" step is
	// one of the protocol, not of a handler.
	Kept string `json:"kept"`
	Undo string `json:"undo,omitempty"`
}

func newStep(name string, stored []byte) Step {
	s := Step{Name: name, Bytes: len(stored), Kept: "unknown"}
	switch content := form.DecodeStep(stored); {
	case strings.HasPrefix(name, form.InternalStep):
		s.Kept = "internal"
	case form.IsLost(stored):
		s.Kept = "nothing"
	case content.Payload != "":
		s.Kept = "elsewhere"
	case content.Unavailable == "":
		s.Kept = "result"
	}
	return s
}

type Saga struct {
	Type string `json:"type,omitempty"` // of the error
	// Undo are the steps to undo, in that order, of a call that has failed
	// permanently and is not finished.
	Undo []string `json:"undo,omitempty"`
	// Undone are the steps that were undone, of a call that is finished.
	Undone []string `json:"undone,omitempty"`
}

// Saga reads the failure as the functions do, and returns nil if there is none. A
// failure that is sealed or broken leaves its fields empty.
func (r *Record) Saga() *Saga {
	text := r.Data
	if r.undoing {
		text = form.DecodeStep(r.Steps[form.FailureStep]).Data
	}
	var f form.SagaFailure
	if json.Unmarshal(text, &f) != nil {
		f.Type = ""
	}
	if !r.undoing && (r.Status != driver.Failed || len(f.Compensated) == 0) {
		return nil
	}
	for i := range r.steps {
		if s := &r.steps[i]; s.Undo == "" && slices.Contains(f.Steps, s.Name) {
			s.Undo = "pending"
		}
	}
	return &Saga{Type: f.Type, Undo: f.Steps, Undone: f.Compensated}
}

var inWords = map[string]string{
	"nothing": ", no result", "elsewhere": ", its result elsewhere", "unknown": ", not Once's",
	"internal": ", Once's own, which a newer version writes", "done": ", undone", "pending": ", to be undone",
}

func (s Step) String() string {
	return fmt.Sprintf("%s, %d bytes%s%s", cli.Printable(s.Name), s.Bytes, inWords[s.Kept], inWords[s.Undo])
}
