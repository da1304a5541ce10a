package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// holding is an attachment that holds something until it is discarded.
type holding struct {
	entry
	log *[]string
}

func (h *holding) Discard() { *h.log = append(*h.log, "discard") }

// A vault is a bank that writes down the order of its writes.
type vault struct {
	*memory.Store
	log    []string
	refuse error
}

func (v *vault) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	h, commits := c.With.(*holding)
	c.With = nil
	switch {
	case commits && v.refuse != nil:
		v.log = append(v.log, "refuse")
		return driver.Record{}, false, &driver.Rejected{Err: v.refuse}
	case commits:
		v.log = append(v.log, "commit "+h.what)
	case c.Release != 0:
		v.log = append(v.log, "release")
	case c.Status == driver.Failed:
		v.log = append(v.log, "fail")
	}
	return v.Store.Change(ctx, f, c)
}

func (v *vault) Commit(_ context.Context, _ string, with any) error {
	v.log = append(v.log, "commit "+with.(*holding).what)
	return nil
}

func (v *vault) hold(ctx context.Context, what string) {
	driver.Attach(ctx, func() *holding { return &holding{entry: entry{what: what}, log: &v.log} })
}

// The connection of an open transaction must not stay out of the pool: the release of
// the record may need it.
func TestAttachmentIsDiscardedBeforeTheRecordIsReleased(t *testing.T) {
	errFull := errors.New("full")
	for name, c := range map[string]struct {
		fn     func(v *vault, ctx context.Context) (string, error)
		refuse error
		want   []string // the call discards once more when it has ended
	}{
		"success": {func(v *vault, ctx context.Context) (string, error) { v.hold(ctx, "x"); return "", nil }, nil,
			[]string{"commit x", "discard"}},
		"nothing to commit": {func(v *vault, ctx context.Context) (string, error) { v.hold(ctx, ""); return "", nil }, nil,
			[]string{"discard", "discard"}},
		"an error": {func(v *vault, ctx context.Context) (string, error) { v.hold(ctx, "x"); return "", errFull }, nil,
			[]string{"discard", "release", "discard"}},
		"a permanent error": {func(v *vault, ctx context.Context) (string, error) {
			v.hold(ctx, "x")
			return "", idempotent.Permanent(errFull)
		}, nil, []string{"discard", "fail", "discard"}},
		"a refusal": {func(v *vault, ctx context.Context) (string, error) { v.hold(ctx, "x"); return "", nil }, errFull,
			[]string{"refuse", "release", "discard"}},
		"a panic": {func(v *vault, ctx context.Context) (string, error) { v.hold(ctx, "x"); panic("oh") }, nil,
			[]string{"discard", "release", "discard"}},
		"an undone saga": {func(v *vault, ctx context.Context) (string, error) {
			v.hold(ctx, "x")
			_, err := idempotent.SagaStep(ctx, "s", returns("x"), func(context.Context, string) error { return nil })
			return "", errors.Join(err, idempotent.Permanent(errFull))
		}, nil, []string{"discard", "fail", "discard"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := &vault{Store: memory.New(0), refuse: c.refuse}
			x := newExecutor(t, v, nil)
			panicOf(func() { do(t.Context(), x, func(ctx context.Context) (string, error) { return c.fn(v, ctx) }) })
			check.Slice(t, v.log, c.want)
		})
	}
}

func TestAttachmentIsDiscardedWhenTheCodecExits(t *testing.T) {
	v := &vault{Store: memory.New(0)}
	x := newExecutor(t, v, &idempotent.Config{Codec: exitsInEncode{}})
	inGoroutine(func() {
		do(t.Context(), x, func(ctx context.Context) (string, error) { v.hold(ctx, "x"); return "", nil })
	})
	check.Slice(t, v.log, []string{"discard", "release", "discard"})
}

func TestAttachmentOfACallWithoutARecordIsDiscarded(t *testing.T) {
	for _, fail := range []error{nil, errors.New("no")} {
		v := &vault{Store: memory.New(0)}
		err := bypassed(t.Context(), t, v, func(ctx context.Context) (string, error) {
			v.hold(ctx, "x")
			return "", fail
		})
		want := []string{"commit x", "discard"}
		if fail != nil {
			want = []string{"discard", "discard"}
		}
		check.Is(t, err, fail)
		check.Slice(t, v.log, want)
	}
}

func TestCallNamesTheStoreThatCommits(t *testing.T) {
	v := &vault{Store: memory.New(0)}
	for store, want := range map[driver.Store]driver.Transactional{v: v, memory.New(0): nil} {
		try(t.Context(), t, newExecutor(t, store, nil), func(ctx context.Context) (string, error) {
			if got := driver.CallOf(ctx).Store(); got != want {
				return "", fmt.Errorf("got a %T, want a %T", got, want)
			}
			return "", nil
		}).succeeded()
	}
}

func panics(t *testing.T, _ string, fn func()) {
	t.Helper()
	text, ok := panicOf(fn).(string) // a nil dereference is no refusal
	check.True(t, ok)
	check.True(t, strings.HasPrefix(text, "idempotent: "))
}

// A later attempt receives the step's result without running it: its commit
// would miss what the step had attached.
func TestAttachNotWithinAStep(t *testing.T) {
	b := newBank()
	x := newExecutor(t, b, nil)
	panics(t, "a step", func() {
		do(t.Context(), x, func(ctx context.Context) (string, error) {
			return idempotent.Step(ctx, "debit", books("debit", nil))
		})
	})
	panics(t, "what undoes one", func() {
		do(t.Context(), x, func(ctx context.Context) (string, error) {
			_, err := idempotent.SagaStep(ctx, "debit", returns("x"), func(ctx context.Context, _ string) error {
				book(ctx, "refund")
				return nil
			})
			if err != nil {
				return "", err
			}
			return "", soldOut()
		})
	})
	check.Equal(t, stored(t, b).Status, driver.InProgress, "with a refund that was not booked")
}

func TestAttachNotAfterTheHandler(t *testing.T) {
	for name, fail := range map[string]error{"nil": nil, "an error": errCrash} {
		b := newBank()
		var late context.Context
		var first *entry
		x := newExecutor(t, b, nil)
		do(t.Context(), x, func(ctx context.Context) (string, error) { late = ctx; return "", fail })
		panics(t, "the first, after "+name, func() { book(late, "late") })
		do(t.Context(), newExecutor(t, newBank(), nil), func(ctx context.Context) (string, error) {
			late, first = ctx, book(ctx, "in time")
			return "", fail
		})
		panics(t, "another, after "+name, func() { book(late, "late") })
		check.Equal(t, first.sealed, 1, name)
	}
}

// The panic names the store with transactions for a unit test.
func TestAttachWhereNothingWouldCommit(t *testing.T) {
	panics(t, "no call", func() { book(t.Context(), "x") })
	for name, c := range map[string]struct {
		want string
		call func()
	}{
		"in memory": {"*memory.Store", func() {
			do(t.Context(), newExecutor(t, memory.New(0), nil), func(ctx context.Context) (string, error) {
				book(ctx, "x")
				return "", nil
			})
		}},
		"unprotected": {"idempotent.Unprotected", func() { book(idempotent.Unprotected(t.Context()), "x") }},
	} {
		said := fmt.Sprint(panicOf(c.call))
		for _, want := range []string{c.want, "in a unit test", "dynamo.Store", "dynamodblocal.NewTable", "postgres.Store", "postgreslocal.NewDatabase"} {
			check.Contains(t, said, want, name)
		}
	}
}

// The commit hangs for as long as it may. A release then decides what became of it, also
// one that takes its time.
func TestHungCommitLeavesTimeToDecideIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBank()
		b.on = func(w write) (driver.Record, bool, error) {
			return on(isCommit, hangs)(write{ctx: w.ctx, record: w.record, fence: w.fence, change: w.change, send: func() (driver.Record, bool, error) {
				return on(isRelease, slow(time.Second))(w)
			}})
		}
		try(t.Context(), t, newExecutor(t, b, &idempotent.Config{Lease: 9 * time.Second}), func(ctx context.Context) (string, error) {
			book(ctx, "transfer")
			return "done", nil
		}).rolledBack()
		recordIs(t, b, "released")
		b.holds(t)
	})
}
