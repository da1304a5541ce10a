package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

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
		x := newExecutor(t, v, &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
		_, err := idempotent.Do(t.Context(), x, idempotent.Key{}, func(ctx context.Context) (string, error) {
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
