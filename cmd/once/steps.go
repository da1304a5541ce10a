package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lambda-once/once/idempotent/driver"
)

// Steps of package idempotent begin with ':', which no step of a handler does.
const (
	failureStep = ":failure" // the call has failed permanently, and is being undone
	undoStep    = ":undo:"   // followed by the name of the step that is undone
	roomStep    = ":room"    // the compensation budget
)

// step is a finished step of a handler.
type step struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
	Kept  string `json:"kept"`
	Undo  string `json:"undo,omitempty"`
}

// The stored form of a step, and whether it is undone.
const (
	keptResult    = "result"
	keptNothing   = "nothing" // the reason why the result could not be stored
	keptElsewhere = "elsewhere"
	keptUnknown   = "unknown" // it is not as Once stores it
	undoDone      = "done"
	undoPending   = "pending"
)

// undoable precedes a step that is undone if its call fails permanently.
const undoable = "~"

// keptBy is how the first byte of a stored step says that it is kept.
var keptBy = map[byte]string{'=': keptResult, '!': keptNothing, '@': keptElsewhere}

func newStep(name string, stored []byte) step {
	first := (strings.TrimPrefix(string(stored), undoable) + " ")[0]
	return step{Name: name, Bytes: len(stored), Kept: cmp.Or(keptBy[first], keptUnknown)}
}

// saga describes a failure with steps that are undone after it.
type saga struct {
	Type string `json:"type,omitempty"` // of the error
	// Undo are the steps to undo, in that order, of a call that has failed
	// permanently and is not finished.
	Undo []string `json:"undo,omitempty"`
	// Undone are the steps that were undone, of a call that is finished.
	Undone []string `json:"undone,omitempty"`
}

// saga reads the failure as the functions do, and returns nil if there is none. A
// failure that is sealed or broken leaves its fields empty.
func (r *record) saga() *saga {
	text := r.Data
	if r.undoing {
		text = bytes.TrimPrefix(r.Steps[failureStep], []byte("="))
	}
	var f struct {
		Type               string
		Steps, Compensated []string
	}
	if json.Unmarshal(text, &f) != nil {
		f.Type = ""
	}
	if !r.undoing && (r.Status != driver.Failed || len(f.Compensated) == 0) {
		return nil
	}
	for i := range r.steps {
		if s := &r.steps[i]; s.Undo == "" && slices.Contains(f.Steps, s.Name) {
			s.Undo = undoPending
		}
	}
	return &saga{Type: f.Type, Undo: f.Steps, Undone: f.Compensated}
}

var inWords = map[string]string{
	keptNothing: ", no result", keptElsewhere: ", its result elsewhere", keptUnknown: ", not Once's",
	undoDone: ", undone", undoPending: ", to be undone",
}

// String returns a step as text for a person.
func (s step) String() string {
	return fmt.Sprintf("%s, %d bytes%s%s", printable(s.Name), s.Bytes, inWords[s.Kept], inWords[s.Undo])
}

// print writes the saga below the steps.
func (s *saga) print(w io.Writer) {
	switch {
	case s == nil:
	case len(s.Undone) > 0:
		fmt.Fprintf(w, "%-12s %s\n", "undone", printable(strings.Join(s.Undone, ", ")))
	default:
		fmt.Fprintf(w, "%-12s for good, with %s\n", "failed", cmp.Or(printable(s.Type), "an error that cannot be read"))
	}
}
