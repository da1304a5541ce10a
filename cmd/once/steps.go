package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/internal/attribute"
	"github.com/lambda-once/once/internal/recorditem"
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
	Bytes int    `json:"bytes"` // as they are stored
	Kept  string `json:"kept"`
	Undo  string `json:"undo,omitempty"`
}

// What is stored of a step, and whether it is undone.
const (
	keptResult     = "result"
	keptNothing    = "nothing" // the reason why the result could not be stored
	keptElsewhere  = "elsewhere"
	keptCompressed = "compressed" // one of these
	keptUnknown    = "unknown"    // it is not as Once stores it
	undoDone       = "done"
	undoPending    = "pending"
)

// readSteps reads the steps, with what those of package idempotent mean for the
// others.
func (r *record) readSteps(stored map[string]types.AttributeValue) {
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		switch undone, isUndo := strings.CutPrefix(name, undoStep); {
		case name == failureStep:
			r.undoing = true
		case name == roomStep:
		case isUndo:
			r.undone = append(r.undone, undone)
		default:
			r.steps = append(r.steps, newStep(name, stored[name]))
		}
	}
	for i := range r.steps {
		if slices.Contains(r.undone, r.steps[i].Name) {
			r.steps[i].Undo = undoDone
		}
	}
}

// undoable precedes a step that is undone if its call fails permanently.
const undoable = "~"

func newStep(name string, v types.AttributeValue) step {
	s := step{Name: name, Bytes: attribute.Size(v), Kept: keptUnknown}
	tag := byte(0)
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		tag = first(strings.TrimPrefix(v.Value, undoable))
	case *types.AttributeValueMemberB:
		switch first(v.Value) { // the store's own tags
		case recorditem.TagRaw:
			tag = first(bytes.TrimPrefix(v.Value[1:], []byte(undoable)))
		case recorditem.TagGzip:
			s.Kept = keptCompressed
		}
	}
	switch tag {
	case '=':
		s.Kept = keptResult
	case '!':
		s.Kept = keptNothing
	case '@':
		s.Kept = keptElsewhere
	}
	return s
}

func first[T string | []byte](text T) byte {
	if len(text) == 0 {
		return 0
	}
	return text[0]
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
func (t *table) saga(ctx context.Context, r *record) *saga {
	if !r.undoing && r.status != "FAILED" {
		return nil
	}
	stored, err := t.store.Get(ctx, r.id)
	if err != nil {
		r.problems = append(r.problems, "the failure cannot be read: "+err.Error())
	}
	text := stored.Data
	if r.undoing {
		text = stored.Steps[failureStep]
		if first(text) == '=' {
			text = text[1:]
		}
	}
	var f struct {
		Type               string
		Steps, Compensated []string
	}
	if json.Unmarshal(text, &f) != nil {
		f.Type = ""
	}
	if !r.undoing && len(f.Compensated) == 0 {
		return nil
	}
	for i := range r.steps {
		if s := &r.steps[i]; s.Undo == "" && slices.Contains(f.Steps, s.Name) {
			s.Undo = undoPending
		}
	}
	return &saga{Type: f.Type, Undo: f.Steps, Undone: f.Compensated}
}

// said returns a step as text for a person.
func (s step) said() string {
	kept := map[string]string{
		keptNothing: ", no result", keptElsewhere: ", its result elsewhere", keptCompressed: ", compressed", keptUnknown: ", not Once's",
	}
	undo := map[string]string{undoDone: ", undone", undoPending: ", to be undone"}
	return fmt.Sprintf("%s, %d bytes%s%s", printable(s.Name), s.Bytes, kept[s.Kept], undo[s.Undo])
}

// print writes the saga below the steps.
func (s *saga) print(w io.Writer) {
	if s == nil {
		return
	}
	if len(s.Undone) > 0 {
		fmt.Fprintf(w, "%-12s %s\n", "undone", printable(strings.Join(s.Undone, ", ")))
		return
	}
	kind := printable(s.Type)
	if kind == "" {
		kind = "an error that cannot be read"
	}
	fmt.Fprintf(w, "%-12s for good, with %s\n", "failed", kind)
}
