package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/errortypes"
)

// lambdaType is the name by which Lambda reports an error, and Step Functions
// match it.
func lambdaType(err error) string {
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

// mustBeNamed panics for an error of this package that nobody can name, and that
// is not the handler's own. Nearly every call of the tests passes here.
func mustBeNamed(err, own error) {
	if err == nil || errors.Is(own, err) {
		return
	}
	switch t := lambdaType(err); t {
	case "errorString", "wrapError", "wrapErrors", "joinError", "permanentError", "retryableError", "unreadable":
		if strings.HasPrefix(err.Error(), "idempotent: ") {
			panic(fmt.Sprintf("a call returns an error of the type %s: %v", t, err))
		}
	}
}

// A type that no call of this test returns fails the test.
func TestEveryErrorTypeLeavesUnderItsName(t *testing.T) {
	var types []string
	for _, dir := range []string{".", "driver", "memory"} {
		walked, err := errortypes.Parse(dir)
		check.Must(t, err)
		types = append(types, walked.Types()...)
	}
	call := func(store driver.Store, config *idempotent.Config, fn func(context.Context) (string, error)) error {
		_, _, err := do(t.Context(), newExecutor(t, store, config), fn)
		return err
	}
	again := func(config *idempotent.Config, key idempotent.Key, first error) error {
		store := memory.New(0)
		x := newExecutor(t, store, config)
		_, _ = idempotent.Do(t.Context(), x, theKey, failsWith(first))
		_, err := idempotent.Do(t.Context(), x, key, returns(""))
		return err
	}
	key := func(key idempotent.Key) error {
		_, err := idempotent.Do(t.Context(), newExecutor(t, memory.New(0), nil), key, mustNotRun(t))
		return err
	}
	provoked := map[string]func() error{
		"CompensationError": func() error { return call(memory.New(0), nil, chargeWithoutUndo) },
		"ConfigError": func() error {
			_, err := idempotent.New("a#b", nil, &idempotent.Config{MaxAttempts: -1, Wait: -1})
			return err
		},
		"InProgressError": func() (err error) {
			store := memory.New(0)
			_ = call(store, nil, func(context.Context) (string, error) {
				err = call(store, nil, mustNotRun(t))
				return "", nil
			})
			return err
		},
		"InvalidKeyError":     func() error { return key(idempotent.Key{ID: "\x00"}) },
		"InvalidPayloadError": func() error { return key(idempotent.Key{ID: "k", Payload: func() {}}) },
		"InvalidWriteError": func() error {
			_, _, err := memory.New(0).Create(t.Context(), driver.Record{}, time.Time{}, nil)
			return err
		},
		"KeyExpiredError": func() error {
			_, err := idempotent.Do(t.Context(), newExecutor(t, memory.New(0), refusesLate()), idempotent.Key{ID: "k", Issued: time.UnixMilli(0)}, mustNotRun(t))
			return err
		},
		"KeyForgottenError": func() error {
			store := memory.New(0)
			_ = store.Put(met(t, began(72*time.Hour)))
			return call(store, remembers(), mustNotRun(t))
		},
		"KeyReusedError": func() error { return again(nil, otherPayload, idempotent.Permanent(errCrash)) },
		"LeaseLostError": func() error {
			store := memory.New(0)
			return call(store, nil, func(context.Context) (string, error) {
				takeOver(t, store)
				return "", nil
			})
		},
		"FullError": func() error {
			full := memory.New(1)
			r := driver.Record{ID: "1", Status: driver.InProgress, Owner: "o", Lease: time.Now().Add(time.Hour), Expires: time.Now().Add(time.Hour)}
			_ = full.Put(r)
			r.ID = "2"
			return full.Put(r)
		},
		"MissingKeyError": func() error { return key(idempotent.Key{}) },
		"NestedCallError": func() error {
			x := newExecutor(t, memory.New(0), nil)
			_, _, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
				_, _, err := do(ctx, x, mustNotRun(t))
				return "", err
			})
			return err
		},
		"OutcomeUnknownError": func() error { return again(&idempotent.Config{MaxAttempts: 1}, theKey, errCrash) },
		"Rejected":            func() error { return newBank().Commit(t.Context(), "1", &entry{refused: errCrash}) },
		"RecordChangedError": func() error {
			x := newExecutor(t, memory.New(0), nil)
			_, _, _ = do(t.Context(), x, returns(""))
			s, _ := x.Record(t.Context(), theKey)
			_ = s.Evict(t.Context())
			_, _, _ = do(t.Context(), x, returns("again"))
			return s.Evict(t.Context())
		},
		"ReplayedError": func() error { return again(nil, theKey, idempotent.Permanent(errCrash)) },
		"ResumeError": func() error {
			_, err := adapter.Request(t.Context(), newExecutor(t, memory.New(0), resumes()), driver.Record{})
			return err
		},
		"ResultUnavailableError": func() error {
			store := memory.New(0)
			_ = call(store, nil, returns("text"))
			_, err := idempotent.Do(t.Context(), newExecutor(t, store, nil), theKey, func(context.Context) (int, error) { return 0, nil })
			return err
		},
		"StepError": func() error {
			//oncevet:ignore stepname the test asks for the error
			return call(memory.New(0), nil, func(ctx context.Context) (string, error) { return idempotent.Step(ctx, "", returns("")) })
		},
		"StepsLeftError": func() error {
			store := memory.New(0)
			_ = call(store, nil, func(ctx context.Context) (string, error) {
				if _, err := idempotent.Step(ctx, "charge", returns("")); err != nil {
					return "", err
				}
				return "", errCrash
			})
			execution := adapter.Execution{ID: []string{"arn"}, Until: time.Now().Add(time.Hour), Decide: func(error) idempotent.Outcome { return idempotent.OutcomeReleased }}
			_, _, err := do(adapter.With(t.Context(), adapter.Durable(execution)), newExecutor(t, store, nil), mustNotRun(t))
			return err
		},
		"StoreError": func() error { return call(claimsFail(memory.New(0)), nil, mustNotRun(t)) },
		"TimedOutError": func() error {
			return call(frozen(memory.New(0)), &idempotent.Config{Lease: 20 * time.Millisecond, Reserve: time.Millisecond}, untilItEnds(context.Cause))
		},
	}
	for _, name := range types {
		provoke := provoked[name]
		if provoke == nil {
			t.Errorf("%s is in no case of this test", name)
			continue
		}
		err := provoke()
		check.Failed(t, err)
		check.Equal(t, lambdaType(err), name)
	}
}

// An error of an unexported type is wrapped in one of an exported type.
func TestEveryErrorThatLeavesHasAnExportedType(t *testing.T) {
	const (
		call    = "part of a call, whose errors pass mustBeNamed in these tests"
		asPanic = "Path panics with it"
		asText  = "decoding makes it a canonical.Error, and Path that an InvalidPayloadError"
	)
	for dir, explained := range map[string]map[string]string{
		".": {
			"call.*": call, "writer.*": call, "joined": call, "nothingCommitted": call, "steps.*": call, "typed.*": call, "Executor.*": call, "gaveUp": call, "noResult": call, "recovered": call,
			"Permanent": "the call takes the class off", "Retryable": "the call takes the class off",
		},
		"driver": {"Mistakes.Add": "Mistakes.Err wraps it in a ConfigError"},
		"memory": nil,

		"internal/bounds": {"Within": call},
		"keypath":         nil,
		"../internal/jmespath": {
			"parse": asPanic, "parser.*": asPanic, "syntaxError": asPanic, "lexer.quoted": asPanic,
			"utf8Text": asText, "fromBase64": asText, "gunzip": asText, "call.content": "Path makes it a MissingKeyError",
		},
	} {
		walked, err := errortypes.Parse(dir)
		check.Must(t, err)
		for _, fault := range walked.Unexplained(explained) {
			t.Errorf("%s: %s", dir, fault)
		}
	}
}

// Lambda would report the classification in place of the error of a key function.
func TestClassOfAKeyFunctionsErrorDoesNotLeave(t *testing.T) {
	marked := func(string) (idempotent.Key, error) { return idempotent.Key{}, idempotent.Permanent(errCrash) }
	_, err := idempotent.Wrap(newExecutor(t, memory.New(0), nil), marked,
		func(ctx context.Context, _ string) (string, error) { return mustNotRun(t)(ctx) })(t.Context(), "")
	check.Equal(t, err, errCrash)
}
