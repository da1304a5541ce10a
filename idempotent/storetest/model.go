package storetest

import (
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
	change driver.Change
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

// model returns item after w, and reports whether the condition of w held.
func model(item driver.Record, w write) (driver.Record, bool) {
	f, c := w.fence, w.change
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
		if absent || expired && (!running || noLease || lapsed) {
			created := w.record
			created.Steps = map[string][]byte{}
			return created, true
		}
	case opRecreate:
		if absent {
			return w.record, true
		}
	case opTakeOver:
		if running && item.Owner == f.Owner && item.Attempt == f.Attempt && item.Lease.Equal(f.Lease) {
			if item.Attempt == 0 {
				item.Attempt = 1
			}
			item.Attempt++
			item.Owner, item.Lease, item.Expires = c.Owner, c.Lease, c.Expires
			if item.Steps == nil {
				item.Steps = map[string][]byte{}
			}
			if item.Fingerprint == "" {
				item.Fingerprint = c.Fingerprint
			}
			return item, true
		}
	case opExtend:
		if own && !item.Lease.IsZero() && item.Lease.Before(c.Lease) {
			item.Lease, item.Expires = c.Lease, c.Expires
			return item, true
		}
	case opStep:
		if own {
			item.Steps = maps.Clone(item.Steps)
			maps.Copy(item.Steps, c.Steps)
			return item, true
		}
	case opComplete, opFail:
		if own {
			return finishModel(item, c), true
		}
	case opAdopt:
		if running && item.Owner == "" && item.Lease.Equal(driver.LeaseEnded) && item.Attempt == f.Attempt {
			item.Owner = c.Owner
			return finishModel(item, c), true
		}
	case opDelete:
		if own && len(item.Steps) == 0 {
			return driver.Record{}, true
		}
	case opKeep, opRefund:
		if own {
			item.Owner, item.Lease = "", driver.LeaseEnded
			if w.op == opRefund {
				item.Refunds++
			}
			return item, true
		}
	}
	return item, false
}

func finishModel(item driver.Record, c driver.Change) driver.Record {
	item.Status, item.Data, item.Payload, item.Unavailable, item.Expires = c.Status, c.Data, c.Payload, c.Unavailable, c.Expires
	item.Steps, item.Lease = nil, time.Time{}
	return item
}
