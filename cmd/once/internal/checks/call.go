package checks

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/idempotent/driver"
)

// A firstCall makes the reads and writes of a function on a record of its own, and compares each
// result with the one it must have. Settings and rights alone do not show how a trigger, a
// policy of rows, a lost index or a key of KMS changes a write.
//
// A kill leaves one record at most, which expires in half an hour.
type firstCall struct {
	*store.Store
	id      string
	found   *Findings
	repair  func(context.Context, error) (Verdict, string)
	claimed bool // or perhaps
}

type move struct {
	name  string // of the finding
	means string // for functions, if it comes out differently
	send  func() (driver.Record, bool, error)
	right func(met driver.Record, ok bool) bool
}

// run plays the call, and deletes its record. ctx ends some time after an interrupt, so that
// the record is deleted then, too.
func (f *firstCall) run(ctx context.Context, interrupted <-chan struct{}) {
	e, err := f.Inspect(ctx, f.id)
	if err != nil {
		f.wrong(ctx, "first call", err.Error(), err)
		return
	}
	right := true
	for _, m := range f.moves(ctx, driver.WholeMillis(e.At)) {
		select {
		case <-interrupted:
			right = false
		default:
			right = f.make(ctx, m)
		}
		if !right {
			break
		}
	}
	if right {
		f.found.say("first call", Fine, "claim, duplicate, step, takeover, release, completion and replay", "")
	}
	if !f.clean(ctx) && f.claimed {
		f.found.add("clean-up", Warning, "the record "+f.id+" may be left, and expires in half an hour", "once release "+f.id+" --delete --force removes it now")
	}
}

func (f *firstCall) make(ctx context.Context, m move) bool {
	met, ok, err := m.send()
	f.claimed = f.claimed || err == nil || errors.Is(err, driver.ErrUnavailable) || f.found.Waits.Ended() != nil
	switch {
	case err != nil:
		f.wrong(ctx, m.name, err.Error(), err)
	case !m.right(met, ok):
		f.wrong(ctx, m.name, m.means, nil)
	default:
		return true
	}
	return false
}

func (f *firstCall) wrong(ctx context.Context, name, is string, err error) {
	v, toDo := f.repair(ctx, err)
	f.found.say(name, v, is, toDo)
}

// moves returns the requests in their order. The leases have ended, so that a takeover need
// not wait.
func (f *firstCall) moves(ctx context.Context, at time.Time) []move {
	first, second, third := rand.Text(), rand.Text(), rand.Text()
	lease, longer, expires := at.Add(-2*time.Minute), at.Add(-time.Minute), driver.WholeSeconds(at.Add(30*time.Minute))
	claim := driver.Record{ID: f.id, Status: driver.InProgress, Owner: first, Attempt: 1, Lease: lease, Expires: expires, Began: lease,
		Fingerprint: "once-check", Request: []byte(`{"once":"check"}`)}
	steps := map[string][]byte{"check": []byte(`{"step":1}`)}
	data := []byte(`{"once":"check"}`)
	create := func(owner string) func() (driver.Record, bool, error) {
		return func() (driver.Record, bool, error) {
			r := claim
			r.Owner = owner
			return f.Create(ctx, r, at.Add(-time.Second), nil)
		}
	}
	change := func(fence driver.Fence, c driver.Change) func() (driver.Record, bool, error) {
		fence.ID = f.id
		return func() (driver.Record, bool, error) { return f.Change(ctx, fence, c) }
	}
	own := func(owner string) driver.Fence { return driver.Fence{Owner: owner} }
	complete := driver.Change{Status: driver.Completed, Data: data, Expires: expires}
	done := func(_ driver.Record, ok bool) bool { return ok }
	ownedBy := func(owner string) func(driver.Record, bool) bool {
		return func(met driver.Record, ok bool) bool { return !ok && met.Owner == owner }
	}
	taken := func(owner string, attempt, refunds int64) func(driver.Record, bool) bool {
		return func(met driver.Record, ok bool) bool {
			return ok && met.Owner == owner && met.Attempt == attempt && met.Refunds == refunds && met.Began.Equal(claim.Began) &&
				met.Fingerprint == claim.Fingerprint && bytes.Equal(met.Request, claim.Request) && maps.EqualFunc(met.Steps, steps, bytes.Equal)
		}
	}
	return []move{
		{"claim", "it is not stored: no call can run", create(first), done},
		{"duplicate", "a key that is claimed is granted again: its work runs twice", create(second), ownedBy(first)},
		{"deletion", "a record is not deleted: what failed cannot be called again before its lease ends", change(own(first), driver.Change{Release: driver.ReleaseDelete}), done},
		{"second claim", "a deleted record is still there: what failed cannot be called again", create(first), done},
		{"heartbeat", "a lease is not extended: work that takes longer runs twice", change(own(first), driver.Change{Lease: longer, Expires: expires}), done},
		{"step", "it is not stored: the next attempt repeats it", change(own(first), driver.Change{Steps: steps}), done},
		{"takeover", "what an attempt left is not as it was stored: the next one cannot continue",
			change(driver.Fence{Owner: first, Attempt: 1, Lease: longer}, driver.Change{Owner: second, Lease: longer, Expires: expires}), taken(second, 2, 0)},
		{"fence", "an owner that was replaced can still write: results are overwritten", change(own(first), complete), ownedBy(second)},
		{"release", "an attempt is not given back: the next call waits for its lease", change(own(second), driver.Change{Release: driver.ReleaseRefund}), done},
		{"second takeover", "a released record is not as it was stored: the next attempt cannot continue",
			change(driver.Fence{Attempt: 2, Lease: driver.LeaseEnded}, driver.Change{Owner: third, Lease: longer, Expires: expires}), taken(third, 3, 1)},
		{"completion", "the result is not stored: the work runs again", change(own(third), complete), done},
		{"replay", "the result is not read as it was stored: the work runs again", func() (driver.Record, bool, error) {
			met, err := f.Get(ctx, f.id)
			return met, met.Status == driver.Completed, err
		}, func(met driver.Record, ok bool) bool { return ok && bytes.Equal(met.Data, data) && len(met.Steps) == 0 }},
	}
}

func (f *firstCall) clean(ctx context.Context) bool {
	e, err := f.Inspect(ctx, f.id)
	if err != nil || e.ID == "" {
		return err == nil
	}
	_, err = f.Write(ctx, record.New(e), driver.Change{Release: driver.ReleaseDelete})
	if err != nil {
		return false
	}
	e, err = f.Inspect(ctx, f.id) // a suppressed deletion looks like one that came too late
	return err == nil && e.ID == ""
}
