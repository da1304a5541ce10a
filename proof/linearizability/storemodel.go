package linearizability

import (
	"hash/maphash"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lambda-once/once/idempotent/driver"
)

// storeModel is the contract of [driver.Store] as porcupine understands it. It is
// written from the documentation of package driver, and shares no code with a
// store or with package storetest. With lenient, a refusal need not come from
// the condition; see [Options].
func storeModel(lenient bool) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return state{} },
		Step: func(s, in, out any) (bool, any) {
			ok, next := judge(s.(state), in.(request), out.(answer), lenient)
			return ok, next
		},
		Hash: hashOf[state],
	}
}

var hashSeed = maphash.MakeSeed()

func hashOf[S comparable](s any) uint64 { return maphash.Comparable(hashSeed, s.(S)) }

// judge reports whether a store in state s may answer r with a, and returns the
// state after that.
func judge(s state, r request, a answer, lenient bool) (bool, state) {
	if r.kind == end {
		s.Over = true
		return true, s
	}
	next, held := apply(s, r)
	switch {
	case a.unknown:
		// One that changes nothing cannot be told from one that was never applied, so
		// all of these are placed after the end. This loses no order of operations,
		// and keeps the search small.
		return s.Over || next != s, next
	case r.kind == read:
		return stateOf(a.record) == seen(s), s
	case a.ok:
		return held && returns(r, a.record, next), next
	case held && !lenient:
		return false, s // a write was refused whose condition held
	default:
		return stateOf(a.record) == seen(s), s
	}
}

// seen returns the state as a store returns it.
func seen(s state) state {
	s.Over = false
	return s
}

// apply returns the state after r, and whether the condition of r holds in s.
func apply(s state, r request) (state, bool) {
	if r.kind == create {
		return applyCreate(s, r)
	}
	// The fence of every change. An empty owner means that there is none.
	fence, to := r.fenced(), r.set()
	if r.kind == read || s.Status != driver.InProgress || s.Owner != fence.Owner {
		return s, false
	}
	if to.Owner != "" && (s.Attempt != fence.Attempt || s.Lease != fence.Lease) {
		return s, false
	}
	next := s
	if !to.Expires.IsZero() {
		next.Expires = to.Expires
	}
	if s.Fingerprint == "" {
		next.Fingerprint = to.Fingerprint
	}
	switch r.kind {
	case takeOver:
		next.Owner, next.Lease = to.Owner, to.Lease
		next.Attempt = max(s.Attempt, 1) + 1
		if !to.Began.IsZero() {
			next.Began = to.Began
		}
	case extend:
		if s.Lease.IsZero() || !s.Lease.Before(to.Lease) {
			return s, false
		}
		next.Lease = to.Lease
	case step:
		next.Steps = addSteps(s.Steps, r.change.Steps)
	case adopt, finish:
		if r.kind == adopt {
			next.Owner = to.Owner
		}
		next.Status, next.Data, next.Payload, next.Unavailable = to.Status, to.Data, to.Payload, to.Unavailable
		next.Lease, next.Steps, next.Request, next.Ended = time.Time{}, "", "", to.Ended
	case releaseDelete:
		if s.Steps != "" {
			return s, false
		}
		next = state{Over: s.Over}
	case releaseKeep, releaseRefund:
		next.Owner, next.Lease = "", driver.LeaseEnded.UTC()
		if r.kind == releaseRefund {
			next.Refunds++
		}
	}
	return next, true
}

// applyCreate replaces no record, or one whose retention and lease ended before
// the cutoff.
func applyCreate(s state, r request) (state, bool) {
	if s.Status != driver.Absent {
		switch {
		case r.cutoff.IsZero(),
			s.Expires.IsZero() || !s.Expires.Before(r.cutoff.Truncate(time.Second)),
			s.Status == driver.InProgress && !s.Lease.Before(r.cutoff.Truncate(time.Millisecond)):
			return s, false
		}
	}
	next := stateOf(r.record)
	next.Over = s.Over
	return next, true
}

// returns reports whether got is a correct answer to r, which led to the state
// after. Create and a takeover return the whole record; any other change returns
// the values that it has set.
func returns(r request, got driver.Record, after state) bool {
	g, want, to := stateOf(got), seen(after), r.set()
	switch r.kind {
	case create, takeOver:
		return g == want
	case releaseDelete:
		return g.Status == driver.Absent
	}
	ok := g.Status == want.Status && g.Owner == want.Owner
	if !to.Lease.IsZero() || r.change.Release != 0 {
		ok = ok && g.Lease == want.Lease
	}
	if !to.Expires.IsZero() {
		ok = ok && g.Expires == want.Expires
	}
	if to.Status != driver.Absent {
		ok = ok && g.Data == want.Data && g.Payload == want.Payload && g.Unavailable == want.Unavailable
	}
	return ok
}
