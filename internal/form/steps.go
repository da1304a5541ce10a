// Package form contains the forms in which a record keeps results, steps and errors,
// and the compensation budget of a large record. Package idempotent writes them, and the
// command once shows them.
package form

import "strings"

// A Stored is an encoded result, error or step as a record contains it. At
// most one of the three is set.
type Stored struct {
	Data        []byte
	Payload     string // the reference of data in a payload store
	Unavailable string // why there is none
}

// InternalStep begins the names of steps that are the protocol's own.
const InternalStep = ":"

const (
	// FailureStep is the failure note. It is stored before the first step is
	// undone: from then on the call has failed for good.
	FailureStep = InternalStep + "failure"
	// UndoStep begins the name of the note that a step is undone.
	UndoStep = InternalStep + "undo:"
	// BudgetStep is the compensation budget of a large record: bytes that mean
	// nothing. The failure note overwrites them, so that undoing has room in a
	// store whose records have a limit. Only the store knows how large a record
	// is there, compressed and with foreign attributes. So the room
	// is taken, and not computed.
	BudgetStep = InternalStep + "room"
)

// The first byte of a stored step tells the kind of the rest.
const (
	dataTag        = '=' // its result
	unavailableTag = '!' // why there is none
	payloadTag     = '@' // the reference of its result
	BudgetTag      = '#' // nothing: see BudgetStep
)

// undoableTag stands before that byte if the call has to undo the step when it
// fails for good.
const undoableTag = '~'

// EncodeStep returns the bytes that a record contains of a finished step.
func EncodeStep(e Stored) []byte {
	switch {
	case e.Unavailable != "":
		return append([]byte{unavailableTag}, e.Unavailable...)
	case e.Payload != "":
		return append([]byte{payloadTag}, e.Payload...)
	default:
		return append([]byte{dataTag}, e.Data...)
	}
}

// DecodeStep returns the meaning of the bytes of a stored step.
func DecodeStep(stored []byte) Stored {
	if IsUndoable(stored) {
		stored = stored[1:]
	}
	if len(stored) == 0 {
		return Stored{Unavailable: "the stored bytes are not the result of a step"}
	}
	switch rest := stored[1:]; stored[0] {
	case dataTag:
		return Stored{Data: rest}
	case payloadTag:
		return Stored{Payload: string(rest)}
	case unavailableTag:
		return Stored{Unavailable: "the result was not stored: " + string(rest)}
	default:
		return Stored{Unavailable: "the stored bytes are not the result of a step"}
	}
}

// IsUndoable reports whether the call has to undo a stored step when it fails
// for good.
func IsUndoable(stored []byte) bool { return len(stored) > 0 && stored[0] == undoableTag }

// IsLost reports whether no store could keep the result of a stored step. Bytes
// with a different tag may be readable to a later version, or when a payload
// store answers.
func IsLost(stored []byte) bool {
	if IsUndoable(stored) {
		stored = stored[1:]
	}
	return len(stored) > 0 && stored[0] == unavailableTag
}

// Undoable returns the bytes of a stored step that the call has to undo.
func Undoable(stored []byte) []byte { return append([]byte{undoableTag}, stored...) }

// SaysUndoing reports whether a stored step of this name says that undoing has
// begun.
func SaysUndoing(name string) bool {
	return name == FailureStep || strings.HasPrefix(name, UndoStep)
}
