package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/seal"
)

// record is a record as an operator sees it.
type record struct {
	driver.Entry
	steps   []step
	undoing bool // the call has failed for good
}

// newRecord reads the steps, and from those of package idempotent which are undone.
func newRecord(e driver.Entry) *record {
	r := &record{Entry: e}
	for _, name := range slices.Sorted(maps.Keys(e.Steps)) {
		switch {
		case name == failureStep:
			r.undoing = true
		case name == roomStep, strings.HasPrefix(name, undoStep):
		default:
			s := newStep(name, e.Steps[name])
			if _, undone := e.Steps[undoStep+name]; undone {
				s.Undo = undoDone
			}
			r.steps = append(r.steps, s)
		}
	}
	return r
}

// operation returns the first part of the id. In records of Powertools it is the
// name of a function.
func (r *record) operation() string { return r.ID[:max(strings.Index(r.ID, "#"), 0)] }

// neverExpires reports whether the record stays for ever, as those of operations
// with MaxAttempts do.
func (r *record) neverExpires() bool { return r.Expires.IsZero() || r.Expires.UTC().Year() >= 9999 }

// foreign reports whether a different library wrote the record: it has neither owner nor
// attempt.
func (r *record) foreign() bool { return r.Owner == "" && r.Attempt == 0 }

// released reports whether the lease was ended by a release.
func (r *record) released() bool { return r.Lease.Equal(driver.LeaseEnded) }

// state is how a call would treat the record.
type state string

const (
	running   state = "running"   // a lease is live
	leaseless state = "leaseless" // in progress without a lease: Powertools'
	lapsed    state = "lapsed"    // the lease has ended, and no call has taken over
	released  state = "released"  // released, and no call has claimed it since
	completed state = "completed"
	failed    state = "failed"
	over      state = "over" // retention has ended: the next call runs
	unknown   state = "unknown"
)

// at returns the state as package idempotent sees it. before is the current time,
// moved back by the clock skew.
func (r *record) at(before time.Time) state {
	switch {
	case r.Status != driver.Absent && r.Expired(before):
		return over
	case r.Status == driver.Completed:
		return completed
	case r.Status == driver.Failed:
		return failed
	case r.Status != driver.InProgress:
		return unknown
	case r.Lease.IsZero():
		return leaseless
	case r.released():
		return released
	case r.Lapsed(before):
		return lapsed
	}
	return running
}

// shape describes the stored result without showing it.
func (r *record) shape() string {
	key, sealed := seal.KeyID(r.Data)
	switch {
	case r.Payload != "":
		return "kept elsewhere: " + printable(r.Payload)
	case r.Unavailable != "":
		return "unavailable, the reason of " + digest([]byte(r.Unavailable))
	case sealed:
		return fmt.Sprintf("sealed with key %q, %d bytes", key, len(r.Data))
	case r.Data == nil:
		return "none"
	case utf8.Valid(r.Data):
		return "text of " + digest(r.Data)
	}
	return "binary of " + digest(r.Data)
}

func digest(data []byte) string {
	return fmt.Sprintf("%d bytes, SHA-256 %.12x", len(data), sha256.Sum256(data))
}

// printable quotes a text that would control the terminal.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
