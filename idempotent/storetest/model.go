package storetest

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// The model states the conditional writes of the contract a second time: one
// case for each, with its condition and its effect on a plain record. It shares
// no code with any store, so that the two can disagree. Steps are nil if the
// record has none, not even an empty set.

// write is one request to a store.
type write struct {
	who    int
	op     op
	record driver.Record // Create
	cutoff time.Time     // Create
	fence  driver.Fence
	change driver.Change // Create takes its With
}

type op int

const (
	opCreate op = iota
	opTakeOver
	opExtend
	opStep
	opComplete
	opFail
	opAdopt
	opRecreate
	opDelete
	opKeep
	opRefund
	ops
)

func (o op) String() string {
	return [...]string{"create", "take over", "extend", "step", "complete", "fail",
		"adopt", "recreate", "delete", "keep", "refund"}[o]
}

// creation returns a call of Create.
func creation(r driver.Record, cutoff time.Time) *write {
	w := &write{op: opCreate, record: r, cutoff: cutoff}
	if cutoff.IsZero() {
		w.op = opRecreate
	}
	return w
}

// alteration returns a call of Change.
func alteration(f driver.Fence, c driver.Change) *write {
	w := &write{fence: f, change: c}
	switch {
	case c.Release != 0:
		w.op = opDelete + op(c.Release-driver.ReleaseDelete)
	case c.Status != driver.Absent && c.Owner != "":
		w.op = opAdopt
	case c.Status == driver.Completed:
		w.op = opComplete
	case c.Status == driver.Failed:
		w.op = opFail
	case c.Owner != "":
		w.op = opTakeOver
	case len(c.Steps) > 0:
		w.op = opStep
	default:
		w.op = opExtend
	}
	return w
}

// creates reports whether w is a call of Create.
func (w *write) creates() bool { return w.op == opCreate || w.op == opRecreate }

// holds reports whether the condition of w holds for item.
func (w *write) holds(item driver.Record) bool {
	f := w.fence
	absent := item.Status == driver.Absent
	running := item.Status == driver.InProgress
	own := running && item.Owner != "" && item.Owner == f.Owner
	switch w.op {
	case opCreate:
		// attribute_not_exists(id) OR (exp < cutoff_s AND
		// (status <> INPROGRESS OR attribute_not_exists(lease) OR lease < cutoff_ms))
		expired := !item.Expires.IsZero() && item.Expires.Unix() < w.cutoff.Unix()
		noLease := item.Lease.IsZero()
		lapsed := !noLease && item.Lease.UnixMilli() < w.cutoff.UnixMilli()
		return absent || expired && (!running || noLease || lapsed)
	case opRecreate:
		return absent
	case opTakeOver:
		return running && item.Owner == f.Owner && item.Attempt == f.Attempt && item.Lease.Equal(f.Lease)
	case opExtend:
		return own && !item.Lease.IsZero() && item.Lease.Before(w.change.Lease)
	case opAdopt:
		return running && item.Owner == "" && item.Lease.Equal(driver.LeaseEnded) && item.Attempt == f.Attempt
	case opDelete:
		return own && len(item.Steps) == 0
	}
	return own
}

// effect returns item after w, whose condition holds.
func (w *write) effect(item driver.Record) driver.Record {
	c := w.change
	switch w.op {
	case opCreate, opRecreate:
		item = w.record
		if item.Status == driver.InProgress {
			item.Steps = map[string][]byte{}
		}
	case opTakeOver:
		item.Attempt = max(item.Attempt, 1) + 1
		item.Owner, item.Lease, item.Expires = c.Owner, c.Lease, c.Expires
		if item.Steps == nil {
			item.Steps = map[string][]byte{}
		}
		if item.Fingerprint == "" {
			item.Fingerprint = c.Fingerprint
		}
		if !c.Began.IsZero() {
			item.Began = c.Began
		}
	case opExtend:
		item.Lease = c.Lease
	case opStep:
		item.Steps = maps.Clone(item.Steps)
		maps.Copy(item.Steps, c.Steps)
	case opComplete, opFail, opAdopt:
		item.Status, item.Data, item.Payload, item.Unavailable = c.Status, c.Data, c.Payload, c.Unavailable
		item.Steps, item.Request, item.Lease, item.Ended = nil, nil, time.Time{}, c.Ended.Cut()
		if w.op == opAdopt {
			item.Owner = c.Owner
		}
	case opDelete:
		return driver.Record{}
	case opKeep, opRefund:
		item.Owner, item.Lease = "", driver.LeaseEnded
		if w.op == opRefund {
			item.Refunds++
		}
	}
	if !c.Expires.IsZero() {
		item.Expires = c.Expires
	}
	return item
}

// call sends w to a store.
func (w *write) call(ctx context.Context, store driver.Store) (driver.Record, bool, error) {
	if w.creates() {
		return store.Create(ctx, w.record, w.cutoff, w.change.With)
	}
	return store.Change(ctx, w.fence, w.change)
}

// send sends w to a store and compares the answer with the model. It returns the
// record that must be stored then, and whether the condition held.
func (w *write) send(ctx context.Context, store driver.Store, before driver.Record) (driver.Record, bool, error) {
	after, ok := before, w.holds(before)
	if ok {
		after = w.effect(before)
	}
	got, won, err := w.call(ctx, store)
	if err != nil {
		return after, ok, fmt.Errorf("%v: %w", w, err)
	}
	if won != ok {
		return after, ok, fmt.Errorf("%v: ok %v against %s, returned %s", w, won, show(before), show(got))
	}
	if ok && got.Unavailable != "" && len(after.Data) > itemLimit {
		after.Data, after.Unavailable = nil, got.Unavailable
	}
	d := diff(after, got)
	if ok && !w.creates() {
		d = diffAnswer(w.change, after, got)
	}
	if d != "" {
		err = fmt.Errorf("%v: ok %v, result: %s", w, ok, d)
	}
	return after, ok, err
}

// itemLimit is the size from which on a store may have no room for a result. It then
// stores the reason instead, because the work is done.
const itemLimit = 400 << 10
