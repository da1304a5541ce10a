package driver

import "fmt"

// Validate returns an [*InvalidWriteError] if r is not a record that
// [Store.Create] accepts. Stores call it before they write: DynamoDB would
// store a wrong record without an error.
func (r Record) Validate() error {
	switch r.Status {
	case InProgress, Completed, Failed:
	default:
		return &InvalidWriteError{Reason: fmt.Sprintf("cannot create a record with status %q", r.Status)}
	}
	switch {
	case r.ID == "":
		return &InvalidWriteError{Reason: emptyID}
	case r.Attempt < 0 || r.Refunds < 0:
		return &InvalidWriteError{Reason: "cannot create a record with a negative number of attempts or refunds"}
	case len(r.Steps) > 0:
		return &InvalidWriteError{Reason: "cannot create a record with finished steps"}
	case r.Request != nil && r.Status != InProgress:
		return &InvalidWriteError{Reason: "a finished record has no request"}
	case r.Ended != (Ending{}) && r.Status == InProgress:
		return &InvalidWriteError{Reason: endedAlone}
	case results(r.Data, r.Payload, r.Unavailable) > 1:
		return &InvalidWriteError{Reason: manyResults}
	}
	return nil
}

// Validate returns an [*InvalidWriteError] if the protocol never makes the
// change c under the fence f. Stores call it before they write: DynamoDB would
// apply some of these changes.
func (c Change) Validate(f Fence) error {
	if f.ID == "" {
		return &InvalidWriteError{Reason: emptyID}
	}
	if c.Owner == "" && f.Owner == "" {
		// Such a write could change a released record without a claim.
		return &InvalidWriteError{Reason: "a change without a new owner needs the owner in its fence"}
	}
	switch {
	case c.Release != 0:
		return c.validateRelease()
	case c.Status != Absent:
		return c.validateFinish(f)
	case results(c.Data, c.Payload, c.Unavailable) > 0:
		return &InvalidWriteError{Reason: "a change with a result needs a status"}
	case c.Ended != (Ending{}):
		return &InvalidWriteError{Reason: endedAlone}
	case c.Owner != "" && c.Lease.IsZero():
		return &InvalidWriteError{Reason: "a takeover needs a lease"}
	case c.Owner == "" && !c.Began.IsZero():
		return &InvalidWriteError{Reason: beganAlone}
	case len(c.Steps) > 0:
		return c.validateSteps()
	case c.Lease.IsZero():
		return &InvalidWriteError{Reason: "a change sets nothing"}
	}
	return nil
}

func (c Change) validateRelease() error {
	if c.Release > ReleaseRefund {
		return &InvalidWriteError{Reason: fmt.Sprintf("unknown release %d", c.Release)}
	}
	if c.Owner != "" || !c.Lease.IsZero() || !c.Expires.IsZero() || len(c.Steps) > 0 ||
		c.Fingerprint != "" || !c.Began.IsZero() || c.Ended != (Ending{}) || c.Status != Absent || results(c.Data, c.Payload, c.Unavailable) > 0 {
		return &InvalidWriteError{Reason: "a release must not set anything else"}
	}
	return nil
}

func (c Change) validateFinish(f Fence) error {
	switch {
	case c.Status != Completed && c.Status != Failed:
		return &InvalidWriteError{Reason: fmt.Sprintf("cannot change the status to %q", c.Status)}
	case !c.Lease.IsZero() || len(c.Steps) > 0:
		return &InvalidWriteError{Reason: "a finished record has neither lease nor steps"}
	case !c.Began.IsZero():
		return &InvalidWriteError{Reason: beganAlone}
	case results(c.Data, c.Payload, c.Unavailable) > 1:
		return &InvalidWriteError{Reason: manyResults}
	case c.Owner != "" && (f.Owner != "" || f.Lease.IsZero() || !f.Lease.Equal(LeaseEnded)):
		return &InvalidWriteError{Reason: "only a released record can be adopted"}
	}
	return nil
}

func (c Change) validateSteps() error {
	if !c.Lease.IsZero() {
		return &InvalidWriteError{Reason: "steps and a lease cannot be written together"}
	}
	if _, ok := c.Steps[""]; ok {
		return &InvalidWriteError{Reason: "a step needs a name"}
	}
	return nil
}

// results returns how many of the three forms of a result are set.
func results(data []byte, payload, unavailable string) int {
	n := 0
	for _, is := range [...]bool{data != nil, payload != "", unavailable != ""} {
		if is {
			n++
		}
	}
	return n
}

const (
	emptyID     = "a record needs an id"
	beganAlone  = "only a takeover sets when a record began"
	endedAlone  = "only a finished record has an ending"
	manyResults = "a record can have only one of data, payload reference and reason why the result is unavailable"
)

// An InvalidWriteError reports a write that the protocol never makes, which is
// a bug of the caller. Nothing was written.
type InvalidWriteError struct{ Reason string }

func (e *InvalidWriteError) Error() string { return "idempotent: invalid write: " + e.Reason }

// SafeText returns the whole text.
func (e *InvalidWriteError) SafeText() string { return e.Error() }
