package linearizability

import (
	"fmt"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// request is one call of a [driver.Store], the input of an operation.
type request struct {
	kind   kind
	record driver.Record // create
	cutoff time.Time     // create
	fence  driver.Fence  // all changes
	change driver.Change // all changes
}

// kind is the operation that a request asks for.
type kind uint8

const (
	read kind = iota
	create
	takeOver
	extend
	step
	finish
	adopt
	releaseDelete
	releaseKeep
	releaseRefund
	kinds
	end // of the history: no request
)

func (k kind) String() string {
	if k == end {
		return "end"
	}
	return [...]string{"get", "create", "take over", "extend", "step", "finish", "adopt",
		"delete", "keep", "refund"}[k]
}

func kindOf(c driver.Change) kind {
	switch {
	case c.Release == driver.ReleaseDelete:
		return releaseDelete
	case c.Release == driver.ReleaseKeep:
		return releaseKeep
	case c.Release == driver.ReleaseRefund:
		return releaseRefund
	case c.Status != driver.Absent && c.Owner != "":
		return adopt
	case c.Status != driver.Absent:
		return finish
	case c.Owner != "":
		return takeOver
	case len(c.Steps) > 0:
		return step
	}
	return extend
}

// fenced returns the part of a state that the fence of a change compares.
func (r request) fenced() state {
	return stateOf(driver.Record{Owner: r.fence.Owner, Attempt: r.fence.Attempt, Lease: r.fence.Lease})
}

// set returns the part of a state that a change sets, or adds.
func (r request) set() state {
	c := r.change
	return stateOf(driver.Record{
		Status: c.Status, Owner: c.Owner, Lease: c.Lease, Expires: c.Expires, Began: c.Began, Ended: c.Ended, Steps: c.Steps,
		Fingerprint: c.Fingerprint, Data: c.Data, Payload: c.Payload, Unavailable: c.Unavailable,
	})
}

func (r request) String() string {
	switch r.kind {
	case read, end:
		return r.kind.String()
	case create:
		return fmt.Sprintf("create %v over expired before %v", stateOf(r.record), r.cutoff.UTC())
	}
	return fmt.Sprintf("%v if %v: %v", r.kind, r.fenced(), r.set())
}

// answer is the result of a store, the output of an operation.
type answer struct {
	unknown bool // no answer came: the request may or may not be applied
	ok      bool
	record  driver.Record
}

func (a answer) String() string {
	switch {
	case a.unknown:
		return "?"
	case a.ok:
		return fmt.Sprintf("ok: %v", stateOf(a.record))
	}
	return fmt.Sprintf("no: %v", stateOf(a.record))
}
