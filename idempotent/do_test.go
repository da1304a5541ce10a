package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/keypath"
	"github.com/lambda-once/once/idempotent/memory"
)

func TestDoReplaysTheFirstResult(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	value, event, err := do(t.Context(), x, returns("first"))
	if err != nil || value != "first" || event.Outcome != idempotent.OutcomeExecuted || event.Attempt != 1 || event.RoundTrips != 2 {
		t.Fatalf("first: %q, %v, %+v", value, err, event)
	}
	value, event, err = do(t.Context(), x, mustNotRun(t))
	if err != nil || value != "first" || event.Outcome != idempotent.OutcomeReplayed || event.Attempt != 0 || event.RoundTrips != 1 {
		t.Fatalf("second: %q, %v, %+v", value, err, event)
	}
	r := stored(t, store)
	if r.Status != driver.Completed || string(r.Data) != `"first"` || !r.Lease.IsZero() || r.Owner == "" {
		t.Errorf("stored: %+v", r)
	}
	if hash := strings.TrimPrefix(r.ID, "op#"); hash == r.ID || hash != event.KeyHash || len(hash) != 64 {
		t.Errorf("the id %q is not the operation and the hash %q", r.ID, event.KeyHash)
	}
}

func TestDoRefusesAConflict(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	_, _, err := do(t.Context(), x, func(context.Context) (string, error) {
		value, event, err := do(context.Background(), x, mustNotRun(t))
		var running *idempotent.InProgressError
		if !errors.As(err, &running) || !errors.Is(err, idempotent.ErrInProgress) || running.Until.IsZero() || value != "" {
			t.Errorf("got %q, %v", value, err)
		}
		if event.Outcome != idempotent.OutcomeConflict || event.RoundTrips != 1 {
			t.Errorf("event: %+v", event)
		}
		return "", nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A nested call on the key that its own context holds would wait for itself.
func TestDoRefusesItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExecutor(t, memory.New(0), &idempotent.Config{Wait: time.Hour})
		begun := time.Now()
		_, _, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
			_, event, err := do(ctx, x, mustNotRun(t))
			if !errors.Is(err, idempotent.ErrNestedCall) || event.RoundTrips != 0 || time.Since(begun) != 0 {
				t.Errorf("after %v: %v, %+v", time.Since(begun), err, event)
			}
			if errors.Is(err, idempotent.ErrInProgress) || event.Outcome != idempotent.OutcomeFailed ||
				strings.Contains(err.Error(), "retry") || !strings.Contains(err.Error(), `"op"`) {
				t.Errorf("a call that can never succeed: %v, %+v", err, event)
			}
			other := theKey
			other.ID = "another"
			if _, err := idempotent.Do(ctx, x, other, returns("inner")); err != nil {
				t.Errorf("another key: %v", err)
			}
			elsewhere := newExecutor(t, memory.New(0), nil)
			if _, err := idempotent.Do(ctx, elsewhere, theKey, returns("inner")); err != nil {
				t.Errorf("another store: %v", err)
			}
			return "", nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestDoRefusesAnotherPayload(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	if _, _, err := do(t.Context(), x, returns("first")); err != nil {
		t.Fatal(err)
	}
	other := theKey
	other.Payload = 2
	ctx, event := adapter.WithEvent(t.Context())
	_, err := idempotent.Do(ctx, x, other, mustNotRun(t))
	if !errors.Is(err, idempotent.ErrKeyReused) || event.Outcome != idempotent.OutcomeMismatch {
		t.Errorf("got %v, %+v", err, event)
	}
	other.Payload = nil
	if value, err := idempotent.Do(t.Context(), x, other, mustNotRun(t)); err != nil || value != "first" {
		t.Errorf("without a payload: %q, %v", value, err)
	}
}

// Another library completes a record without data when its function returns
// nothing. The zero value would pass for a result.
func TestRecordWithoutDataHasNoResult(t *testing.T) {
	store := memory.New(0)
	err := store.Put(driver.Record{ID: recordID(t, theKey), Status: driver.Completed, Expires: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]*idempotent.Config{"": nil, "cached": {CacheEntries: 1}} {
		x := newExecutor(t, store, config)
		for range 2 {
			value, event, err := do(t.Context(), x, mustNotRun(t))
			lost, ok := err.(*idempotent.ResultUnavailableError)
			if !ok || lost.Failed || lost.KeyHash != event.KeyHash || lost.Reason == "" || value != "" || event.Outcome != idempotent.OutcomeReplayed {
				t.Errorf("%s: %q, %v, %+v", name, value, err, event)
			}
		}
		_, err := idempotent.Do(t.Context(), x, theKey, func(context.Context) (any, error) { return mustNotRun(t)(t.Context()) })
		if !errors.Is(err, idempotent.ErrResultUnavailable) {
			t.Errorf("%s: an any: %v", name, err)
		}
		// Where there is nothing to know, nothing is missing.
		if _, err := idempotent.Do(t.Context(), x, theKey, func(context.Context) (struct{}, error) { return struct{}{}, nil }); err != nil {
			t.Errorf("%s: a struct{}: %v", name, err)
		}
		effect := idempotent.WrapEffect(x, func(k idempotent.Key) (idempotent.Key, error) { return k, nil },
			func(context.Context, idempotent.Key) error { t.Error("it ran"); return nil })
		if err := effect(t.Context(), theKey); err != nil {
			t.Errorf("%s: an effect: %v", name, err)
		}
	}
}

type insufficientFundsError struct{ missing int }

func (e *insufficientFundsError) Error() string     { return fmt.Sprintf("%d too little", e.missing) }
func (e *insufficientFundsError) ErrorCode() string { return "funds" }

func TestDoReplaysPermanentErrors(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	first := &insufficientFundsError{5}
	value, event, err := do(t.Context(), x, failsWith(idempotent.Permanent(first)))
	if err != first || value != "" || event.Outcome != idempotent.OutcomeFailed {
		t.Fatalf("first: %q, %v, %+v", value, err, event)
	}
	_, event, err = do(t.Context(), x, mustNotRun(t))
	var replayed *idempotent.ReplayedError
	if !errors.As(err, &replayed) || event.Outcome != idempotent.OutcomeReplayed {
		t.Fatalf("second: %v, %+v", err, event)
	}
	if !reflect.DeepEqual(*replayed, idempotent.ReplayedError{Type: "insufficientFundsError", Message: "5 too little", Code: "funds"}) {
		t.Errorf("replayed: %+v", *replayed)
	}
	if r := stored(t, store); r.Status != driver.Failed {
		t.Errorf("stored: %+v", r)
	}
}

func TestDoFindsPermanentErrorsThatAreWrapped(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	first := fmt.Errorf("while paying: %w", idempotent.Permanent(errors.New("no")))
	if _, _, err := do(t.Context(), x, failsWith(first)); err != first {
		t.Errorf("first: %v", err)
	}
	if _, _, err := do(t.Context(), x, mustNotRun(t)); !errors.Is(err, idempotent.ErrReplayed) {
		t.Errorf("second: %v", err)
	}
}

func TestDoReleasesPermanentErrorsWhereConfigured(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{ReleasePermanent: true})
	first := errors.New("no")
	if _, event, err := do(t.Context(), x, failsWith(idempotent.Permanent(first))); err != first || event.Outcome != idempotent.OutcomeReleased {
		t.Errorf("first: %v, %+v", err, event)
	}
	if value, _, err := do(t.Context(), x, returns("second")); err != nil || value != "second" {
		t.Errorf("second: %q, %v", value, err)
	}
}

func TestDoReleasesOtherErrors(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	first := errors.New("try again")
	value, event, err := do(t.Context(), x, failsWith(first))
	if err != first || value != "" || event.Outcome != idempotent.OutcomeReleased {
		t.Fatalf("first: %q, %v, %+v", value, err, event)
	}
	if r := stored(t, store); r.Status != driver.Absent {
		t.Errorf("a first attempt that left no trace is kept: %+v", r)
	}
	if value, _, err = do(t.Context(), x, returns("second")); err != nil || value != "second" {
		t.Errorf("second: %q, %v", value, err)
	}
}

func TestDoReleasesAPanicThatGoesOn(t *testing.T) {
	store := memory.New(0)
	var seen []idempotent.Event
	x := newExecutor(t, store, &idempotent.Config{Observer: observe(func(e idempotent.Event) { seen = append(seen, e) })})
	func() {
		defer func() {
			if p := recover(); p != "boom" {
				t.Errorf("recovered %v", p)
			}
		}()
		_, _, err := do(t.Context(), x, func(context.Context) (string, error) { panic("boom") })
		t.Errorf("the panic ended: %v", err)
	}()
	if len(seen) != 1 || seen[0].Outcome != idempotent.OutcomeReleased || seen[0].Err == nil {
		t.Errorf("observed: %+v", seen)
	}
	if value, _, err := do(t.Context(), x, returns("second")); err != nil || value != "second" {
		t.Errorf("second: %q, %v", value, err)
	}
}

func TestMaxAttempts(t *testing.T) {
	for _, test := range []struct {
		name  string
		max   int
		first []error // of the runs that fail
		runs  bool    // whether one more call runs
	}{
		{"one, an error", 1, []error{errors.New("e")}, false},
		{"one, nothing was done", 1, []error{idempotent.Retryable(errors.New("e"))}, true},
		{"one, nothing was done twice", 1, []error{idempotent.Retryable(errors.New("e")), idempotent.Retryable(errors.New("e"))}, true},
		{"one, nothing was done and an error", 1, []error{idempotent.Retryable(errors.New("e")), errors.New("e")}, false},
		{"two, an error", 2, []error{errors.New("e")}, true},
		{"two, two errors", 2, []error{errors.New("e"), errors.New("e")}, false},
		{"two, one refunded", 2, []error{errors.New("e"), idempotent.Retryable(errors.New("e"))}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := memory.New(0)
			x := newExecutor(t, store, &idempotent.Config{MaxAttempts: test.max})
			for i, first := range test.first {
				_, event, err := do(t.Context(), x, failsWith(first))
				if err == nil || errors.Is(err, idempotent.ErrOutcomeUnknown) || event.Attempt != int64(i+1) {
					t.Fatalf("attempt %d: %v, %+v", i+1, err, event)
				}
			}
			if r := stored(t, store); r.Expires.Year() != 9999 {
				t.Errorf("it expires %v, before a person decides", r.Expires)
			}
			value, event, err := do(t.Context(), x, returns("done"))
			if test.runs && (err != nil || value != "done" || event.Attempt != int64(len(test.first)+1)) {
				t.Errorf("got %q, %v, %+v", value, err, event)
			}
			if !test.runs && (!errors.Is(err, idempotent.ErrOutcomeUnknown) || event.Outcome != idempotent.OutcomeUnknown) {
				t.Errorf("got %q, %v, %+v", value, err, event)
			}
		})
	}
}

func TestMissingKeys(t *testing.T) {
	refuse, run := &idempotent.Config{}, &idempotent.Config{OnMissingKey: idempotent.RunMissingKey}
	id := func(id string) (idempotent.Key, error) { return idempotent.Key{ID: id}, nil }
	byPath := keypath.Path[map[string]any]("id")
	tenant := idempotent.WithScope(byPath, keypath.Path[map[string]any]("tenant"))
	for _, test := range []struct {
		name   string
		config *idempotent.Config
		key    func(map[string]any) (idempotent.Key, error)
		runs   bool
	}{
		{"an empty id is refused", refuse, func(map[string]any) (idempotent.Key, error) { return id("") }, false},
		{"a null path is refused", refuse, byPath, false},
		{"an empty id runs unprotected", run, func(map[string]any) (idempotent.Key, error) { return id("") }, true},
		{"a null path runs unprotected", run, byPath, true},
		{"a missing scope is refused all the same", run, tenant, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := newExecutor(t, memory.New(0), test.config)
			runs, keys := 0, map[string]bool{}
			handler := idempotent.Wrap(x, test.key, func(ctx context.Context, _ map[string]any) (int, error) {
				runs++
				keys[idempotent.DownstreamKey(ctx, "a")] = true
				if idempotent.DownstreamKey(ctx, "a") == idempotent.DownstreamKey(ctx, "b") {
					t.Error("two names have one downstream key")
				}
				return runs, nil
			})
			request := map[string]any{}
			if test.name == "a missing scope is refused all the same" {
				request["id"] = "k"
			}
			for i := range 2 {
				n, err := handler(t.Context(), request)
				if test.runs && (err != nil || n != i+1) {
					t.Errorf("got %d, %v", n, err)
				}
				if !test.runs && !errors.Is(err, idempotent.ErrMissingKey) {
					t.Errorf("got %d, %v", n, err)
				}
			}
			if test.runs && len(keys) != 2 {
				t.Errorf("unrelated requests share a downstream key: %v", keys)
			}
		})
	}
}

func TestInvalidKeys(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
	const secret = "4111-1111"
	for name, key := range map[string]idempotent.Key{
		"long id":                 {ID: strings.Repeat(secret, 200)},
		"long scope":              {Scope: strings.Repeat(secret, 200), ID: "k"},
		"control character":       {ID: secret + "\n"},
		"delete":                  {ID: secret + "\x7f"},
		"id not UTF-8":            {ID: secret + "\xff"},
		"scope not UTF-8":         {Scope: secret + "\xff", ID: "k"},
		"record not UTF-8":        {Record: secret + "\xff"},
		"long record":             {Record: strings.Repeat(secret, 300)},
		"record and id":           {Record: secret, ID: "k"},
		"record and scope":        {Record: secret, Scope: "s"},
		"fingerprint and payload": {ID: "k", Fingerprint: secret, Payload: 1},
		"long fingerprint":        {ID: "k", Fingerprint: strings.Repeat(secret, 200)},
	} {
		_, err := idempotent.Do(t.Context(), x, key, mustNotRun(t))
		if !errors.Is(err, idempotent.ErrInvalidKey) {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error quotes the key: %v", name, err)
		}
	}
	_, err := idempotent.Do(t.Context(), x, idempotent.Key{ID: "k", Payload: make(chan int)}, mustNotRun(t))
	if !errors.Is(err, idempotent.ErrInvalidPayload) {
		t.Errorf("a payload without a form: %v", err)
	}
}

// The key is taken before the handler runs: a handler that changes its request
// completes the record that it claimed.
func TestWrapHandlerMayChangeItsRequest(t *testing.T) {
	type request struct{ ID, Text string }
	x := newExecutor(t, memory.New(0), nil)
	runs := 0
	handler := idempotent.Wrap(x, func(r *request) (idempotent.Key, error) {
		return idempotent.Key{ID: r.ID, Payload: r}, nil
	}, func(_ context.Context, r *request) (int, error) {
		runs++
		r.ID, r.Text = "changed", "changed"
		return runs, nil
	})
	for range 2 {
		if n, err := handler(t.Context(), &request{"k", "text"}); err != nil || n != 1 {
			t.Errorf("got %d, %v", n, err)
		}
	}
}

func TestDisabled(t *testing.T) {
	t.Setenv("ONCE_DISABLED", "true")
	x := newExecutor(t, unusable{}, nil)
	for range 2 {
		value, event, err := do(t.Context(), x, returns("ran"))
		if err != nil || value != "ran" || event.Outcome != idempotent.OutcomeBypassed || event.RoundTrips != 0 {
			t.Errorf("got %q, %v, %+v", value, err, event)
		}
	}
	first := errors.New("no")
	if _, _, err := do(t.Context(), x, failsWith(idempotent.Permanent(first))); err != first {
		t.Errorf("got %v", err)
	}
}

// unusable is a store that panics when it is used.
type unusable struct{ driver.Store }
