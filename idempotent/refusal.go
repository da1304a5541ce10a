package idempotent

import (
	"errors"
	"slices"
)

// A Refusal is the reason why a call was refused because of its request, before
// its handler ran. A conflict and a mismatch are outcomes of their own.
//
// An error of a key function names its Refusal with a method Refusal, as
// [MissingKeyError] does.
type Refusal string

// The reasons of a refusal.
const (
	// RefusalMissingKey: the request has no key.
	RefusalMissingKey Refusal = "missing key"
	// RefusalInvalidKey: its key cannot be used.
	RefusalInvalidKey Refusal = "invalid key"
	// RefusalUnknownCaller: its scope found nothing, or nothing exact. If it is
	// the reason of every call, the scope does not fit the source of the event.
	RefusalUnknownCaller Refusal = "unknown caller"
	// RefusalUnreadable: its body or payload cannot be decoded.
	RefusalUnreadable Refusal = "unreadable"
	// RefusalTooLarge: its body is too large.
	RefusalTooLarge Refusal = "too large"
	// RefusalRejected: a function of the program refused it.
	RefusalRejected Refusal = "rejected"
)

var refusals = []Refusal{RefusalMissingKey, RefusalInvalidKey, RefusalUnknownCaller, RefusalUnreadable, RefusalTooLarge, RefusalRejected}

// Refusal returns why the call was refused because of its request, or "" if it
// was not. The values are few, for metrics.
func (e Event) Refusal() Refusal {
	if e.Outcome != OutcomeFailed || e.Attempt > 0 || e.ErrorIs(ErrStore) {
		return ""
	}
	return refusalOf(e.Err)
}

func refusalOf(err error) (why Refusal) {
	defer func() {
		if recover() != nil { // of the methods of an error, such as a nil pointer
			why = ""
		}
	}()
	var named interface{ Refusal() Refusal }
	if !errors.As(err, &named) {
		return ""
	}
	if why = named.Refusal(); why != "" && !slices.Contains(refusals, why) {
		return RefusalRejected
	}
	return why
}

// Refusal returns RefusalUnknownCaller if the key has no scope.
func (e *MissingKeyError) Refusal() Refusal {
	if e.Part == "scope" {
		return RefusalUnknownCaller
	}
	return RefusalMissingKey
}

// Refusal returns RefusalUnknownCaller if the scope is what is invalid.
func (e *InvalidKeyError) Refusal() Refusal {
	if e.Part == "Scope" {
		return RefusalUnknownCaller
	}
	return RefusalInvalidKey
}

// Refusal returns RefusalUnreadable.
func (e *InvalidPayloadError) Refusal() Refusal { return RefusalUnreadable }
