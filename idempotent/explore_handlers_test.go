//go:build !race

package idempotent

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/ids"
	"github.com/lambda-once/once/idempotent/memory"
)

// witness is what happened in the world, whatever records say of it.
type witness struct {
	effects  []effect
	commits  []string
	again    []string       // commits after the first that their record let through
	undone   map[string]int // by step
	after    int            // times that the run went on after that
	sagas    bool
	recorded bool // the step of the durable execution
	// checked are the attempts of runs that may end before their step.
	checked map[string]int64
	// sent is when a provider may have seen the first request, or the zero time.
	sent time.Time
}

type effect struct {
	attempt int64
	success bool
	// refunded: a first attempt leaves no record, and its number is used again.
	refunded bool
}

func (w *witness) nothing() bool { return len(w.effects)+len(w.commits) == 0 }

// run is one run of a handler: it has value and err to return.
type run struct {
	line  line
	world *witness
	value string
	err   error
}

type handler func(ctx context.Context, r *run) error

// works has an effect on the world, in a handler that ignores the end of its
// context.
func (r *run) works(what string, do func()) error {
	if r.line.net == nil { // the late retry has no network
		do()
		return nil
	}
	return r.line.send(context.Background(), what, true, func() answer {
		do()
		return answer{}
	}).err
}

// effects is a handler whose effect is outside of the store's reach.
func effects(ctx context.Context, r *run) error {
	claim, _ := FromContext(ctx)
	_, refunded := r.err.(*retryableError)
	err := r.works("works", func() {
		r.world.effects = append(r.world.effects, effect{claim.Attempt, r.err == nil, refunded})
	})
	if err != nil {
		return err
	}
	return r.err
}

// commits is a handler whose effect is a transaction. It is one that could be
// done once, by itself too: a second is refused for good.
func commits(ctx context.Context, r *run) error {
	driver.Attach(ctx, func() *booking { return &booking{world: r.world, value: r.value} })
	return r.err
}

// pays works before its transaction.
func pays(ctx context.Context, r *run) error {
	return cmp.Or(r.works("works", func() {}), commits(ctx, r))
}

// transfers is a saga whose transaction is refused once, for a reason that is gone
// when a late copy arrives.
func transfers(ctx context.Context, r *run) error {
	if err := r.undoable(ctx, "a", r.affects, nil); err != nil {
		return err
	}
	driver.Attach(ctx, func() *booking { return &booking{world: r.world, value: r.value, refusals: 1} })
	return r.err
}

// leaves returns while its step runs.
func leaves(ctx context.Context, r *run) error {
	begun := make(chan struct{}, 2)
	go func() {
		_ = r.undoable(ctx, "a", func(ctx context.Context) error { begun <- struct{}{}; return r.affects(ctx) }, nil)
		begun <- struct{}{}
	}()
	<-begun
	return r.err
}

// stepwise has its effect in a step.
func stepwise(ctx context.Context, r *run) error {
	_, err := Step(ctx, "a", func(ctx context.Context) (string, error) {
		return "", effects(ctx, &run{r.line, r.world, r.value, nil})
	})
	if err != nil {
		return err
	}
	return r.err
}

// saga undoes it.
func saga(ctx context.Context, r *run) error {
	if err := r.undoable(ctx, "a", r.affects, nil); err != nil || r.err != nil {
		return cmp.Or(err, r.err)
	}
	_, err := Step(ctx, "b", func(context.Context) (string, error) {
		// Nothing stops a run that was frozen within the step.
		undone := len(r.world.undone)
		return "", r.works("goes on", func() { r.world.after += min(undone, 1) })
	})
	return err
}

func (r *run) affects(ctx context.Context) error {
	return effects(ctx, &run{r.line, r.world, r.value, nil})
}

// undoable is a step that can be undone, unless refused says otherwise.
func (r *run) undoable(ctx context.Context, name string, do func(context.Context) error, refused error) error {
	r.world.sagas = true
	_, err := SagaStep(ctx, name,
		func(ctx context.Context) (string, error) { return "", do(ctx) },
		func(context.Context, string) error {
			if refused != nil {
				return refused
			}
			return r.works("undoes "+name, func() { r.world.undid(name) })
		})
	return err
}

func (w *witness) undid(name string) {
	if w.undone == nil {
		w.undone = map[string]int{}
	}
	w.undone[name]++
}

// halfUndone is a saga whose first step can only be undone by the late retry.
// It works on after its last step.
func halfUndone(ctx context.Context, r *run) error {
	var refused error
	if r.line.net != nil {
		refused = errors.New("cannot be undone now")
	}
	if err := r.undoable(ctx, "a", r.affects, refused); err != nil {
		return err
	}
	if err := r.undoable(ctx, "b", func(context.Context) error { return nil }, nil); err != nil {
		return err
	}
	return cmp.Or(r.works("works on", func() {}), r.err)
}

// checked is a saga that looks before its first step. What is refused for good
// is refused there, and what succeeds needs nothing to be done.
func checked(ctx context.Context, r *run) error {
	claim, _ := FromContext(ctx)
	if r.world.checked == nil {
		r.world.checked = map[string]int64{}
	}
	r.world.checked[r.value] = claim.Attempt
	if err := r.works("checks", func() {}); err != nil {
		return err
	}
	if _, permanent := r.err.(*permanentError); permanent || r.err == nil && r.line.net != nil {
		return r.err
	}
	return cmp.Or(r.undoable(ctx, "a", r.affects, nil), r.err)
}

// booking is what a handler attaches.
type booking struct {
	world    *witness
	value    string
	refusals int // to come
}

func (*booking) Freeze() (bool, error) { return false, nil }

var errBooked = errors.New("booked already")

// book commits it with a write of the record, whose own condition comes first.
func book(with any, write func() (driver.Record, bool, error)) (driver.Record, bool, error) {
	b, _ := with.(*booking)
	before := 0
	if b != nil {
		before = len(b.world.commits)
		if b.refusals--; b.refusals >= 0 {
			return driver.Record{}, false, &driver.Rejected{Err: Permanent(errBooked)}
		}
	}
	if before == 0 || b == nil {
		r, ok, err := write()
		if ok && b != nil {
			b.world.commits = append(b.world.commits, b.value)
		}
		return r, ok, err
	}
	b.world.again = append(b.world.again, b.value)
	return driver.Record{}, false, &driver.Rejected{Err: Permanent(errBooked)}
}

// ledger is a Memory with transactions.
type ledger struct{ *memory.Store }

func (l ledger) Create(ctx context.Context, r driver.Record, over time.Time, with any) (driver.Record, bool, error) {
	if met, err := l.Get(ctx, r.ID); err != nil || met.Status != driver.Absent && !met.Expired(over) {
		return met, false, err
	}
	return book(with, func() (driver.Record, bool, error) { return l.Store.Create(ctx, r, over, nil) })
}

func (l ledger) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	with := c.With
	c.With = nil
	met, err := l.Get(ctx, f.ID)
	if err != nil || met.Status == driver.Absent || !f.Holds(met, c) {
		return met, false, err
	}
	return book(with, func() (driver.Record, bool, error) { return l.Store.Change(ctx, f, c) })
}

func (l ledger) Commit(_ context.Context, _ string, with any) error {
	_, _, err := book(with, func() (driver.Record, bool, error) { return driver.Record{}, true, nil })
	return err
}

func (l line) Commit(ctx context.Context, id string, with any) error {
	return l.send(ctx, "commit alone", false, func() answer {
		return answer{err: l.net.store.Commit(context.Background(), id, with)}
	}).err
}

var moreScenarios = []scenario{
	{"transaction", commits, Config{}, []func(int) error{succeeds, succeeds}, asConfigured, 1, 1},
	{"transaction, two faults", commits, Config{}, []func(int) error{succeeds, succeeds}, asConfigured, 2, 0},
	{"transaction, alone", commits, Config{}, []func(int) error{succeeds}, asConfigured, 3, 1},
	{"transaction, a successor fails", commits, Config{}, []func(int) error{succeeds, fails}, asConfigured, 1, 1},
	{"transaction, a successor is refused for good", commits, Config{}, []func(int) error{succeeds, rejects}, asConfigured, 1, 1},
	{"transaction, once", commits, Config{MaxAttempts: 1}, []func(int) error{succeeds, succeeds}, asConfigured, 1, 1},
	{"transaction, failing open", commits, Config{OnStoreError: FailOpen}, []func(int) error{succeeds, succeeds}, asConfigured, 2, 0},
	{"transaction, failing open, lapses", commits, Config{OnStoreError: FailOpen}, []func(int) error{succeeds, fails}, asConfigured, 1, 1},
	{"optimistic", commits, Config{Optimistic: true}, []func(int) error{succeeds, succeeds}, asConfigured, 2, 0},
	{"optimistic, lapses", commits, Config{Optimistic: true}, []func(int) error{succeeds, succeeds, succeeds}, asConfigured, 1, 1},
	{"optimistic, failing", commits, Config{Optimistic: true}, []func(int) error{succeeds, fails}, asConfigured, 2, 0},
	{"optimistic, refused for good", commits, Config{Optimistic: true}, []func(int) error{rejects, succeeds}, asConfigured, 2, 0},
	{"claimed ahead", effects, Config{}, []func(int) error{succeeds, succeeds}, claimsAhead, 1, 1},
	{"claimed ahead, lapses", effects, Config{}, []func(int) error{succeeds, succeeds}, claimsAhead, 0, 1},
	{"claimed ahead, steps", stepwise, Config{}, []func(int) error{succeeds, fails}, claimsAhead, 0, 1},
	{"optimistic beside a claim", commits, Config{Optimistic: true}, []func(int) error{succeeds, succeeds}, claims, 2, 0},
	{"optimistic beside a claim, lapses", commits, Config{Optimistic: true}, []func(int) error{succeeds, succeeds}, claims, 1, 1},
	{"optimistic beside a claim that fails", commits, Config{Optimistic: true}, []func(int) error{fails, succeeds}, claims, 2, 0},
	{"steps", stepwise, Config{}, []func(int) error{succeeds, succeeds}, asConfigured, 1, 1},
	{"steps, two faults", stepwise, Config{}, []func(int) error{succeeds, fails}, asConfigured, 2, 0},
	{"steps, failing", stepwise, Config{}, []func(int) error{fails, succeeds}, asConfigured, 1, 1},
	{"saga", saga, Config{}, []func(int) error{rejects, succeeds}, asConfigured, 1, 1},
	{"saga, two faults", saga, Config{}, []func(int) error{rejects, succeeds}, asConfigured, 2, 0},
	{"saga, alone", saga, Config{}, []func(int) error{rejects}, asConfigured, 3, 0},
	{"saga, a successor is refused for good", saga, Config{}, []func(int) error{fails, rejects}, asConfigured, 1, 0},
	{"saga, half undone", halfUndone, Config{}, []func(int) error{succeeds, rejects}, asConfigured, 0, 1},
	{"saga, half undone, faults", halfUndone, Config{}, []func(int) error{succeeds, rejects}, asConfigured, 1, 0},
	{"saga, refused before a successor's step", checked, Config{}, []func(int) error{rejects, fails}, asConfigured, 0, 1},
	{"saga, done before a successor's step", checked, Config{}, []func(int) error{succeeds, fails}, asConfigured, 0, 1},
}

// judgeMore compares commits and compensations with what is promised of them.
func (s *scenario) judgeMore(net *network, results []result, w *witness, value string, late error, fail func(string, ...any)) {
	if len(w.again) > 0 {
		fail("%s is committed, and the record lets %q commit again", w.commits[0], w.again)
	}
	final, err := net.store.Get(context.Background(), ids.RecordID("op", "", "k"))
	if err != nil {
		fail("%v", err)
	}
	finished := final.Status == driver.Completed || final.Status == driver.Failed
	if finished == final.Ended.At.IsZero() || (final.Status == driver.Failed) != (final.Ended.Type != "") {
		fail("a record is %s with the ending %q", final.Status, final.Ended.Encode())
	}
	switch {
	case final.Status == driver.Completed && len(w.undone) > 0:
		fail("undone and completed")
	case w.after > 0:
		fail("undone, and gone on with")
	case final.Status == driver.Failed && len(w.undone) == 0 && len(w.effects) > 0 && w.sagas && w.checked == nil:
		fail("failed and not undone")
	case final.Status == driver.Completed && late == nil && len(w.commits) == 1 && value != w.commits[0]:
		fail("%s is committed, and the answer is %q", w.commits[0], value)
	case final.Status == driver.Failed && len(w.commits) > 0:
		fail("%s is committed, and the record failed", w.commits[0])
	}
	for name := range net.undoable {
		if final.Status == driver.Failed && w.undone[name] == 0 {
			fail("failed, and step %s is not undone", name)
		}
	}
	for _, e := range w.effects {
		if attempt := w.checked[value]; attempt > 0 && final.Status == driver.Completed && attempt < e.attempt {
			fail("completed by attempt %d, which knew nothing of the step of attempt %d", attempt, e.attempt)
		}
	}
	for i, r := range results {
		var store *StoreError
		if r.err == nil || !errors.As(r.err, &store) || !store.RolledBack {
			continue
		}
		for _, value := range w.commits {
			if value[0] == byte('A'+i) {
				fail("%c was told that nothing was committed", 'A'+i)
			}
		}
	}
}
