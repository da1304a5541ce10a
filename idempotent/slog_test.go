package idempotent_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// logged makes the default logger write to the buffer that it returns.
func logged(t *testing.T) *bytes.Buffer {
	t.Helper()
	before, out := slog.Default(), new(bytes.Buffer)
	slog.SetDefault(slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	t.Cleanup(func() { slog.SetDefault(before) })
	return out
}

// abandoned is a store with the record of an attempt that crashed.
func abandoned(t *testing.T) *memory.Store {
	t.Helper()
	return storing(t, func(r *driver.Record) { lapsed(r); r.Owner = "crashed" })
}

// lasting is a store whose records outlive the process.
type lasting struct{ driver.Store }

const handlersText = "card 4111-1111"

// chargeAndFail finishes a step and fails: its record stays for the retry.
func chargeAndFail(ctx context.Context) (string, error) {
	if _, err := idempotent.Step(ctx, "charge", returns("charged")); err != nil {
		return "", err
	}
	return "", errors.New(handlersText)
}

// chargeWithoutUndo fails for good, and so does what undoes it.
func chargeWithoutUndo(ctx context.Context) (string, error) {
	_, err := idempotent.SagaStep(ctx, "charge", returns("charged"), func(context.Context, string) error { return errors.New(handlersText) })
	if err != nil {
		return "", err
	}
	return "", idempotent.Permanent(errors.New(handlersText))
}

// Without an Observer, problems are logged.
func TestProblemsAreLoggedByDefault(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	type run = func(t *testing.T, config *idempotent.Config)
	call := func(t *testing.T, store driver.Store, config *idempotent.Config, fn func(context.Context) (string, error)) {
		if m, ok := store.(*memory.Store); ok {
			store = lasting{m}
		}
		_, _, _ = do(during(t, 20*time.Second), newExecutor(t, store, config), fn)
	}
	for name, test := range map[string]struct {
		want string
		run  run
	}{
		"takeover": {"level=WARN", func(t *testing.T, c *idempotent.Config) { call(t, abandoned(t), c, returns("")) }},
		"takeover that fails": {"level=WARN", func(t *testing.T, c *idempotent.Config) {
			call(t, abandoned(t), c, failsWith(errors.New(handlersText)))
		}},
		"lost lease": {"level=WARN", func(t *testing.T, c *idempotent.Config) {
			store := memory.New(0)
			call(t, store, c, func(context.Context) (string, error) {
				takeOver(t, store)
				return "", nil
			})
		}},
		"cut off": {"level=WARN", func(t *testing.T, c *idempotent.Config) {
			call(t, memory.New(0), c, untilItEnds(func(ctx context.Context) error { return errors.Join(errors.New(handlersText), ctx.Err()) }))
		}},
		"result that does not encode": {"its result is unavailable", func(t *testing.T, c *idempotent.Config) {
			_, err := idempotent.Do(t.Context(), newExecutor(t, lasting{memory.New(0)}, c), theKey, func(context.Context) (any, error) { return func() {}, nil })
			check.Nil(t, err)
		}},
		"result of a step that does not encode": {"level=WARN", func(t *testing.T, c *idempotent.Config) {
			call(t, memory.New(0), c, func(ctx context.Context) (string, error) {
				_, err := idempotent.Step(ctx, "s", func(context.Context) (func(), error) { return func() {}, nil })
				return "", err
			})
		}},
		"failure that is not sealed": {"its error is unavailable", func(t *testing.T, c *idempotent.Config) {
			sealed := *c
			sealed.Sealer = noSealer{}
			call(t, memory.New(0), &sealed, failsWith(idempotent.Permanent(errors.New(handlersText))))
		}},
		"failed open": {"level=ERROR", func(t *testing.T, c *idempotent.Config) {
			open := *c
			open.OnStoreError = idempotent.FailOpen
			call(t, claimsFail(newBank()), &open, returns(""))
		}},
		"repeated": {"level=WARN", func(t *testing.T, c *idempotent.Config) {
			unclaimed, b := *c, newBank()
			unclaimed.Optimistic = true
			for range 2 {
				call(t, b, &unclaimed, returns("sent"))
			}
		}},
		"late": {"level=WARN", func(t *testing.T, c *idempotent.Config) {
			refuses := *c
			refuses.RefuseLate = true
			tryIssued(t.Context(), t, newExecutor(t, lasting{memory.New(0)}, &refuses), 48*time.Hour, mustNotRun(t)).refusedAsLate()
		}},
		"forgotten": {"level=ERROR", func(t *testing.T, c *idempotent.Config) {
			remembers := *c
			remembers.ProviderMemory = time.Hour
			store := storing(t, began(72*time.Hour))
			call(t, store, &remembers, mustNotRun(t))
		}},
		"not undone": {"level=WARN", func(t *testing.T, c *idempotent.Config) { call(t, memory.New(0), c, chargeWithoutUndo) }},
		"unknown, with the text of a condition": {"level=ERROR", func(t *testing.T, c *idempotent.Config) {
			unclaimed := *c
			unclaimed.Optimistic = true
			b, tries := newBank(), 0
			b.before = func(e *entry) error {
				if tries++; tries == 1 {
					e.refused = errors.New(handlersText)
				}
				return errNetwork
			}
			call(t, b, &unclaimed, books("x", nil))
		}},
	} {
		bubble(t, name, func(t *testing.T) {
			out := logged(t)
			test.run(t, &idempotent.Config{})
			lines := strings.Count(out.String(), "\n")
			check.Equal(t, lines, 1)
			check.Contains(t, out.String(), test.want)
			check.Lacks(t, out.String(), handlersText)
			for silence, o := range map[string]idempotent.Observer{"NoObserver": idempotent.NoObserver{}, "no Observers": idempotent.Observers{}} {
				out.Reset()
				if test.run(t, &idempotent.Config{Observer: o}); out.Len() > 0 {
					t.Errorf("%s is not silent:\n%s", silence, out)
				}
			}
		})
	}
}

// Success, and what the configuration chose, logs nothing.
func TestWhatGoesWellIsSilentByDefault(t *testing.T) {
	for name, run := range map[string]func(t *testing.T){
		"executed and replayed": func(t *testing.T) {
			x := newExecutor(t, memory.New(0), nil)
			for range 2 {
				try(t.Context(), t, x, returns("")).succeeded()
			}
		},
		"failed for good, and replayed": func(t *testing.T) {
			x := newExecutor(t, memory.New(0), nil)
			for range 2 {
				_, _, _ = do(t.Context(), x, failsWith(idempotent.Permanent(errors.New(handlersText))))
			}
		},
		"retried after a release": func(t *testing.T) {
			x := newExecutor(t, memory.New(0), &idempotent.Config{MaxAttempts: 3})
			_, _, _ = do(t.Context(), x, failsWith(errCrash))
			r := try(t.Context(), t, x, returns("")).succeeded().ended(idempotent.OutcomeTakeover)
			check.False(t, r.event.Lapsed)
		},
		"retried after a step": func(t *testing.T) {
			x := newExecutor(t, memory.New(0), nil)
			for range 2 {
				_, _, _ = do(t.Context(), x, chargeAndFail)
			}
		},
		"disabled": func(t *testing.T) {
			t.Setenv("ONCE_DISABLED", "1")
			x := newExecutor(t, memory.New(0), nil)
			_, _, _ = do(t.Context(), x, returns(""))
			_, _, _ = do(t.Context(), x, failsWith(errors.New(handlersText)))
		},
		"without a key": func(t *testing.T) {
			x := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
			for _, fn := range []func(context.Context) (string, error){returns(""), failsWith(errors.New(handlersText))} {
				_, _ = idempotent.Do(t.Context(), x, idempotent.Key{}, fn)
			}
		},
		"refused": func(t *testing.T) {
			x := newExecutor(t, memory.New(0), nil)
			_, _, _ = do(t.Context(), x, func(ctx context.Context) (string, error) {
				try(context.WithoutCancel(t.Context()), t, x, mustNotRun(t)).is(idempotent.ErrInProgress)
				return "", nil
			})
			_, _ = idempotent.Do(t.Context(), x, otherPayload, mustNotRun(t))
		},
	} {
		t.Run(name, func(t *testing.T) {
			out := logged(t)
			if run(t); out.Len() > 0 {
				t.Errorf("it says:\n%s", out)
			}
		})
	}
}

// A program may set its logger after it has created its Executors.
func TestDefaultObserverReadsTheDefaultLoggerAtEachEvent(t *testing.T) {
	x := newExecutor(t, abandoned(t), nil)
	out := logged(t)
	_, event, err := do(t.Context(), x, returns(""))
	check.Nil(t, err)
	check.True(t, event.Lapsed)
	check.Contains(t, out.String(), "outcome=takeover")
}

type noSealer struct{}

func (noSealer) Seal(context.Context, driver.Place, []byte) ([]byte, error) {
	return nil, idempotent.Permanent(errors.New("no access to the key"))
}

func (noSealer) Open(context.Context, driver.Place, []byte) ([]byte, error) {
	return nil, errors.New("no access to the key")
}

// What is right in a unit test is said of a function when it starts, and only then.
func TestFunctionWithoutProtectionSaysSoOnceAtItsStart(t *testing.T) {
	for name, test := range map[string]struct {
		function, disabled string
		store              func() driver.Store
		want               string
	}{
		"records in memory":           {"f", "", func() driver.Store { return memory.New(0) }, "the records end with this process"},
		"a store around it":           {"f", "", func() driver.Store { return struct{ *memory.Store }{memory.New(0)} }, "the records end with this process"},
		"records elsewhere":           {"f", "", func() driver.Store { return lasting{memory.New(0)} }, ""},
		"disabled":                    {"f", "true", func() driver.Store { return lasting{memory.New(0)} }, "ONCE_DISABLED is set"},
		"disabled in memory":          {"f", "1", func() driver.Store { return memory.New(0) }, "ONCE_DISABLED is set"},
		"disabled, not on Lambda":     {"", "true", func() driver.Store { return memory.New(0) }, ""},
		"in memory, not on Lambda":    {"", "", func() driver.Store { return memory.New(0) }, ""},
		"not disabled, but on Lambda": {"f", "false", func() driver.Store { return lasting{memory.New(0)} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_LAMBDA_FUNCTION_NAME", test.function)
			t.Setenv("ONCE_DISABLED", test.disabled)
			out := logged(t)
			x := newExecutor(t, test.store(), &idempotent.Config{Observer: idempotent.NoObserver{}})
			started := out.String()
			lines := strings.Count(started, "\n")
			check.True(t, lines <= 1, lines)
			check.Equal(t, lines == 1, test.want != "")
			check.Contains(t, started, test.want)
			check.Equal(t, strings.Contains(started, "level=WARN"), test.want != "")
			check.Equal(t, strings.Contains(started, "operation=op"), test.want != "")
			for range 2 {
				_, _, _ = do(t.Context(), x, returns(""))
			}
			check.Equal(t, out.String(), started, "it says more than at its start")
		})
	}
}
