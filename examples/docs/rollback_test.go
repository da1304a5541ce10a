package docs_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/idempotent/seal"
	"github.com/lambda-once/once/internal/check"
)

// The statements of docs/evolving-code.md about policies, and about rollbacks.

var (
	errPassing  = errors.New("passes")
	errDeclined = idempotent.Permanent(errors.New("declined"))
)

// call calls the key "k" under a configuration, and checks whether the handler runs, and
// the error. A nil handler returns "new".
func call(t *testing.T, store driver.Store, c *idempotent.Config, handler func(context.Context) (string, error), runs bool, want error) error {
	t.Helper()
	x, err := idempotent.New("op", store, c)
	check.Must(t, err)
	ran := false
	_, err = idempotent.Do(t.Context(), x, idempotent.Key{ID: "k"}, func(ctx context.Context) (string, error) {
		ran = true
		if handler == nil {
			return "new", nil
		}
		return handler(ctx)
	})
	check.Equal(t, ran, runs, "the handler runs")
	check.Is(t, err, want)
	return err
}

// usedUp stores a key whose one attempt failed, so that it waits for a person.
func usedUp(t *testing.T) driver.Store {
	t.Helper()
	store := memory.New(0)
	call(t, store, &idempotent.Config{MaxAttempts: 1}, func(context.Context) (string, error) { return "", errPassing }, true, errPassing)
	call(t, store, &idempotent.Config{MaxAttempts: 1}, nil, false, idempotent.ErrOutcomeUnknown)
	return store
}

func TestVersionWithMoreOrNoMaxAttemptsRunsAKeyThatWaitsForAPerson(t *testing.T) {
	for _, c := range []*idempotent.Config{nil, {MaxAttempts: 2}} {
		call(t, usedUp(t), c, nil, true, nil)
	}
}

// The retention is that of the version that stored the record.
func TestLoweredRetentionRunsALaterRepetition(t *testing.T) {
	for _, c := range []struct {
		stored, now time.Duration
		runs        bool
	}{{2 * time.Hour, 2 * time.Hour, false}, {time.Hour, time.Hour, true}, {2 * time.Hour, time.Hour, false}} {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New(0)
			call(t, store, &idempotent.Config{Retention: c.stored}, nil, true, nil)
			time.Sleep(90 * time.Minute)
			call(t, store, &idempotent.Config{Retention: c.now}, nil, c.runs, nil)
		})
	}
}

// The record of before is gone while its key is not late yet: the former retention judges it.
func TestRaisedRetentionRunsALateKeyAgainWithoutTheFormerOne(t *testing.T) {
	for former, want := range map[time.Duration]error{0: nil, time.Hour: idempotent.ErrKeyExpired} {
		synctest.Test(t, func(t *testing.T) {
			store, issued, runs := memory.New(0), time.Now(), 0
			repeat := func(c *idempotent.Config) error {
				x, err := idempotent.New("op", store, c)
				check.Must(t, err)
				_, err = idempotent.Do(t.Context(), x, idempotent.Key{ID: "k", Issued: issued}, func(context.Context) (string, error) {
					runs++
					return "", nil
				})
				return err
			}
			check.Nil(t, repeat(&idempotent.Config{RefuseLate: true, Retention: time.Hour}))
			raised := &idempotent.Config{RefuseLate: true, Retention: 3 * time.Hour}
			if former > 0 {
				raised.RetentionBefore = idempotent.RetentionBefore{Retention: former, Until: issued.Add(time.Minute)}
			}
			time.Sleep(2 * time.Hour)
			check.Is(t, repeat(raised), want)
			check.Equal(t, runs, map[bool]int{true: 1, false: 2}[former > 0], "runs")
		})
	}
}

func sealed(t *testing.T) *idempotent.Config {
	t.Helper()
	keys, err := seal.Static("a", map[string][]byte{"a": bytes.Repeat([]byte{1}, 32)})
	check.Must(t, err)
	return &idempotent.Config{Sealer: seal.New(keys, nil)}
}

func TestVersionWithoutTheSealerRefusesASealedStep(t *testing.T) {
	store, effects := memory.New(0), 0
	handler := func(err error) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			id, stepErr := idempotent.Step(ctx, "charge", func(context.Context) (string, error) { effects++; return "c-1", nil })
			return id, errors.Join(stepErr, err)
		}
	}
	call(t, store, sealed(t), handler(errPassing), true, errPassing)
	call(t, store, nil, handler(nil), true, idempotent.ErrResultUnavailable)
	check.Equal(t, effects, 1, "effects of the step")
}

// elsewhere is a payload store that no version reads from.
type elsewhere struct{}

func (elsewhere) Put(context.Context, []byte) (string, error) { return "elsewhere", nil }

func (elsewhere) Get(context.Context, string) ([]byte, error) { return nil, errors.New("read") }

func TestVersionWithoutTheSealerOrPayloadsRefusesTheirResult(t *testing.T) {
	large := func(context.Context) (string, error) { return string(bytes.Repeat([]byte("x"), 300_000)), nil }
	for _, c := range []*idempotent.Config{sealed(t), {Payloads: elsewhere{}}} {
		store := memory.New(0)
		call(t, store, c, large, true, nil)
		call(t, store, nil, large, false, idempotent.ErrResultUnavailable)
	}
}

func TestVersionWithoutASagaStepDoesNotUndoIt(t *testing.T) {
	store, undone := memory.New(0), 0
	with := func(err error) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			_, stepErr := idempotent.SagaStep(ctx, "reserve", func(context.Context) (string, error) { return "r-1", nil },
				func(context.Context, string) error { undone++; return nil })
			return "", errors.Join(stepErr, err)
		}
	}
	call(t, store, nil, with(errPassing), true, errPassing)
	call(t, store, nil, func(context.Context) (string, error) { return "", errDeclined }, true, idempotent.ErrCompensation)
	check.Equal(t, undone, 0, "steps that the older version undid, and cannot know how")
	err := call(t, store, nil, with(errDeclined), true, errDeclined)
	check.False(t, errors.Is(err, idempotent.ErrCompensation), "of a version that reaches the step again", err)
	check.Equal(t, undone, 1, "times a version that reaches the step undid it")
}
