package storetest_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// broken is a sound store with one thing wrong.
type broken struct {
	*memory.Store
	breakage
	mu   sync.Mutex
	last time.Time
	// checked counts the claims that are between their check and their write.
	checked atomic.Int64
}

// untilAnother yields until another claim has been checked too: on a loaded
// machine no other caller may run for some time. With fewer callers than in a
// race, it does not wait.
func (b *broken) untilAnother() {
	const many = 100
	b.checked.Add(1)
	defer b.checked.Add(-1)
	for began := time.Now(); b.checked.Load() < 2 && runtime.NumGoroutine() > many && time.Since(began) < time.Minute; {
		runtime.Gosched()
	}
}

type breakage struct {
	name   string
	create func(b *broken, c creation) result
	change func(b *broken, c alteration) result
	// alter changes an alteration, or the record that it meets, before it is made, answers
	// the answer to it, and leaves the record that it has stored.
	alter   func(b *broken, a *alteration)
	answers func(a alteration, res *result)
	leaves  func(a alteration, r *driver.Record)
	// shown returns the entry that a change compares with in place of the one shown.
	shown func(shown, now driver.Entry) driver.Entry
	// redacted changes the record that a redaction leaves.
	redacted func(r *driver.Record, before driver.Record)
	// filter changes the filter of a scan, and hurry the cutoff of a sweep.
	filter func(f *driver.Filter)
	hurry  time.Duration
	// racy makes create run without the lock, so that a write is not atomic.
	racy bool
	// depth is the depth of the search if the default one does not notice.
	depth int
	// fails lists the tests that must fail; others may.
	fails []string
}

type creation struct {
	ctx    context.Context
	met    driver.Record
	r      driver.Record
	cutoff time.Time
	with   any
}

type alteration struct {
	ctx context.Context
	met driver.Record
	f   driver.Fence
	c   driver.Change
}

type result struct {
	r   driver.Record
	ok  bool
	err error
}

func (b *broken) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	c := creation{ctx, driver.Record{}, r, cutoff, with}
	if b.create == nil || r.Validate() != nil {
		return b.soundCreate(c).split()
	}
	if !b.racy {
		b.mu.Lock()
		defer b.mu.Unlock()
	}
	c.met = b.peek(r.ID)
	return b.create(b, c).split()
}

func (b *broken) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	a := alteration{ctx, driver.Record{}, f, c}
	if f.ID == "" {
		return b.soundChange(a).split()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	a.met = b.peek(f.ID)
	switch {
	case b.change != nil:
		return b.change(b, a).split()
	case b.alter != nil:
		b.alter(b, &a)
	}
	res := b.soundChange(a)
	switch {
	case b.leaves != nil:
		res = b.spoil(res, func(r *driver.Record) { b.leaves(a, r) })
	case b.answers != nil:
		b.answers(a, &res)
	}
	return res.split()
}

func (b *broken) soundCreate(c creation) result {
	r, ok, err := b.Store.Create(c.ctx, c.r, c.cutoff, c.with)
	return result{r, ok, err}
}

func (b *broken) soundChange(a alteration) result {
	r, ok, err := b.Store.Change(a.ctx, a.f, a.c)
	return result{r, ok, err}
}

// peek reads without the caller's context, which may be done.
func (b *broken) peek(id string) driver.Record {
	r, err := b.Get(context.Background(), id)
	if err != nil {
		panic(err)
	}
	return r
}

// put stores r without a condition.
func (b *broken) put(r driver.Record) result {
	if err := b.Put(r); err != nil {
		return result{err: err}
	}
	return result{r: r, ok: true}
}

// spoil replaces the record that a successful write stored.
func (b *broken) spoil(res result, how func(r *driver.Record)) result {
	if res.err != nil || !res.ok || res.r.Status == driver.Absent {
		return res
	}
	how(&res.r)
	return b.put(res.r)
}

func (r result) split() (driver.Record, bool, error) { return r.r, r.ok, r.err }

func (a alteration) own() bool {
	return a.met.Status == driver.InProgress && a.met.Owner != "" && a.met.Owner == a.f.Owner
}

func (a alteration) takesOver() bool { return a.c.Owner != "" && a.c.Status == driver.Absent }
func (a alteration) adopts() bool    { return a.c.Owner != "" && a.c.Status != driver.Absent }
func (a alteration) releases() bool  { return a.c.Release >= driver.ReleaseKeep }

func (a alteration) extends() bool {
	return a.c.Owner == "" && !a.c.Lease.IsZero() && a.c.Validate(a.f) == nil && a.c.With == nil
}
