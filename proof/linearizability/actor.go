package linearizability

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// The actors call a store directly, with times of their own choice: a history
// needs no time to pass. All times are in the year 2100, so that no server
// deletes a record by its own clock.
const (
	actorLease     = time.Second
	actorRetention = 3 * time.Second
	actorSkew      = 100 * time.Millisecond
	actors         = 4
	actorMoves     = 12
)

var year2100 = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()

// actor is a caller of a store. It follows the protocol as far as it knows the
// record. It knows too little: it may be frozen between two requests, and it
// may go on with an earlier claim of its own, as an attempt does that thaws.
type actor struct {
	store  driver.Store
	h      *history
	rnd    *rand.Rand
	now    *atomic.Int64 // of all actors, in milliseconds
	claims []driver.Fence
	met    driver.Record
	owns   bool // the last of the claims may own the record
}

// playStore makes a history of the store: actors that call it at the same time.
func playStore(h *history, store driver.Store) {
	var now atomic.Int64
	now.Store(year2100)
	h.running = actors
	var all sync.WaitGroup
	for client := range actors {
		a := &actor{
			store: recorded(store, client, h, func() {}),
			h:     h, rnd: h.rand(client), now: &now,
		}
		all.Go(func() {
			defer h.leave()
			for range actorMoves {
				a.move(h.t.Context())
			}
		})
	}
	all.Wait()
	h.settle()
	audit := recorded(store, actors, h, func() {})
	if _, err := audit.Get(h.t.Context(), h.id); err != nil {
		h.problem("the last Get: %v", err)
	}
}

// clock lets time pass, and returns the actor's own time: clocks differ.
func (a *actor) clock() time.Time {
	pass := a.rnd.Int64N(20)
	switch n := a.rnd.IntN(100); {
	case n < 14:
		pass += (actorLease + 2*actorSkew).Milliseconds()
	case n < 26:
		pass += (actorRetention + actorLease + 2*actorSkew).Milliseconds()
	}
	skew := a.rnd.Int64N(actorSkew.Milliseconds()+1) - actorSkew.Milliseconds()/2
	return time.UnixMilli(a.now.Add(pass) + skew)
}

func (a *actor) move(ctx context.Context) {
	if a.rnd.IntN(8) == 0 {
		a.h.freeze(1 + a.rnd.Int64N(12))
	}
	now := a.clock()
	switch running := a.met.Status == driver.InProgress; {
	case len(a.claims) > 0 && !a.owns && running && a.released() && a.rnd.IntN(2) == 0:
		a.finishWithoutOwner(ctx, a.claims[a.rnd.IntN(len(a.claims))], now)
	case len(a.claims) > 0 && (a.owns || a.rnd.IntN(4) == 0):
		a.write(ctx, now)
	case running && (a.met.Lapsed(now.Add(-actorSkew)) && a.rnd.IntN(5) > 0 || a.rnd.IntN(6) == 0):
		a.takeOver(ctx, now)
	case a.rnd.IntN(6) == 0:
		if r, err := a.store.Get(ctx, a.h.id); err == nil {
			a.met = r
		}
	default:
		a.claim(ctx, now)
	}
}

func (a *actor) claim(ctx context.Context, now time.Time) {
	lease := now.Add(actorLease)
	r := driver.Record{
		ID: a.h.id, Status: driver.InProgress, Owner: a.h.name("owner"), Attempt: 1,
		Lease: lease, Expires: wholeSeconds(lease.Add(actorRetention)), Fingerprint: "payload",
	}
	if a.rnd.IntN(5) > 0 { // else it is the claim of an earlier version
		r.Began, r.Request = driver.WholeMillis(now), []byte("="+a.h.name("request"))
	}
	cutoff := now.Add(-actorSkew)
	if a.rnd.IntN(10) == 0 {
		cutoff = time.Time{}
	}
	met, ok, err := a.store.Create(ctx, r, cutoff, nil)
	a.claimed(driver.Fence{ID: a.h.id, Owner: r.Owner, Attempt: 1, Lease: lease}, met, ok, err)
}

func (a *actor) takeOver(ctx context.Context, now time.Time) {
	if a.rnd.IntN(2) == 0 {
		a.h.freeze(2 + a.rnd.Int64N(12)) // the owner may extend its lease
	}
	lease := now.Add(actorLease)
	f := driver.Fence{ID: a.h.id, Owner: a.met.Owner, Attempt: a.met.Attempt, Lease: a.met.Lease}
	c := driver.Change{Owner: a.h.name("owner"), Lease: lease, Expires: wholeSeconds(lease.Add(actorRetention)), Fingerprint: "payload"}
	if a.met.Began.IsZero() {
		c.Began = driver.WholeMillis(now)
	}
	met, ok, err := a.store.Change(ctx, f, c)
	a.claimed(driver.Fence{ID: a.h.id, Owner: c.Owner, Attempt: f.Attempt + 1, Lease: lease}, met, ok, err)
}

// claimed keeps a claim that is ours, or may be: its answer may be lost.
func (a *actor) claimed(claim driver.Fence, met driver.Record, ok bool, err error) {
	if err == nil {
		a.met = met
	}
	if ok || err != nil {
		a.claims, a.owns = append(a.claims, claim), true
	}
}

// write makes one of the writes that an owner may make: with its claim or, now
// and then, with an earlier one.
func (a *actor) write(ctx context.Context, now time.Time) {
	claim := a.claims[len(a.claims)-1]
	if a.rnd.IntN(5) == 0 {
		claim = a.claims[a.rnd.IntN(len(a.claims))]
	}
	f := driver.Fence{ID: a.h.id, Owner: claim.Owner}
	var c driver.Change
	switch n := a.rnd.IntN(100); {
	case n < 30:
		lease := now.Add(actorLease + time.Duration(a.rnd.IntN(300)-100)*time.Millisecond)
		c = driver.Change{Lease: lease, Expires: wholeSeconds(lease.Add(actorRetention))}
	case n < 45:
		c = driver.Change{Steps: map[string][]byte{a.h.name("step"): []byte(`"done"`)}}
	case n < 70:
		c = a.result(now)
	case n < 78:
		c = driver.Change{Release: driver.ReleaseDelete}
	case n < 86:
		c = driver.Change{Release: driver.ReleaseKeep}
	case n < 92:
		c = driver.Change{Release: driver.ReleaseRefund}
	default:
		a.finishWithoutOwner(ctx, claim, now)
		return
	}
	met, ok, err := a.store.Change(ctx, f, c)
	if err != nil {
		return // sent again, or not
	}
	switch {
	case !ok:
		a.met, a.owns = met, met.Owner == claim.Owner && met.Status == driver.InProgress
	case c.Release != 0 || c.Status != driver.Absent:
		a.owns = false
	}
}

// finishWithoutOwner finishes a record that a successor has released or
// removed.
func (a *actor) finishWithoutOwner(ctx context.Context, claim driver.Fence, now time.Time) {
	c := a.result(now)
	var err error
	if a.released() {
		c.Owner = claim.Owner
		f := driver.Fence{ID: a.h.id, Attempt: a.met.Attempt, Lease: a.met.Lease}
		a.met, _, err = a.store.Change(ctx, f, c)
	} else {
		r := driver.Record{
			ID: a.h.id, Status: c.Status, Owner: claim.Owner, Attempt: claim.Attempt,
			Expires: c.Expires, Fingerprint: "payload", Data: c.Data, Ended: c.Ended,
		}
		a.met, _, err = a.store.Create(ctx, r, now.Add(-actorSkew), nil)
	}
	if err == nil {
		a.owns = false
	}
}

func (a *actor) result(now time.Time) driver.Change {
	c := driver.Change{Status: driver.Completed, Expires: wholeSeconds(now.Add(actorRetention)),
		Data: []byte(`"` + a.h.name("result") + `"`)}
	c.Ended.At = driver.WholeMillis(now)
	if a.rnd.IntN(4) == 0 {
		c.Status, c.Ended.Type, c.Ended.Code = driver.Failed, "CardDeclined", "51"
	}
	return c
}

func wholeSeconds(t time.Time) time.Time { return time.Unix(t.Unix(), 0) }

// released reports whether the record, as far as it is known, was released and
// not removed.
func (a *actor) released() bool {
	return a.met.Status == driver.InProgress && a.met.Owner == "" && a.met.Lease.Equal(driver.LeaseEnded)
}
