package idempotent_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// shelf is a PayloadStore in memory. Its hooks, where set, come first.
type shelf struct {
	put func(ctx context.Context) (string, error)
	get func() error

	mu         sync.Mutex
	kept       map[string][]byte
	puts, gets int
}

func newShelf() *shelf { return &shelf{kept: map[string][]byte{}} }

func (s *shelf) Put(ctx context.Context, data []byte) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.puts++
	if s.put != nil {
		if reference, err := s.put(ctx); err != nil || reference != "" {
			return reference, err
		}
	}
	reference := fmt.Sprintf("%x", sha256.Sum256(data))
	s.kept[reference] = bytes.Clone(data)
	return reference, nil
}

var errMissing = errors.New("no such object")

func (s *shelf) Get(_ context.Context, reference string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gets++
	if s.get != nil {
		if err := s.get(); err != nil {
			return nil, err
		}
	}
	data, ok := s.kept[reference]
	if !ok {
		return nil, errMissing
	}
	return bytes.Clone(data), nil
}

var large = strings.Repeat("large ", 100)

func spilling(s *shelf) *idempotent.Config {
	return &idempotent.Config{Payloads: s, PayloadAbove: 100}
}

func TestLargeResultsAreSpilled(t *testing.T) {
	store, payloads := memory.New(0), newShelf()
	if value, _, err := do(t.Context(), newExecutor(t, store, spilling(payloads)), returns(large)); value != large || err != nil {
		t.Fatalf("got %q, %v", value, err)
	}
	r := stored(t, store)
	if r.Status != driver.Completed || r.Payload == "" || r.Data != nil || r.Unavailable != "" || payloads.puts != 1 {
		t.Errorf("stored %+v after %d puts", r, payloads.puts)
	}
	value, event, err := do(t.Context(), newExecutor(t, store, spilling(payloads)), mustNotRun(t))
	if value != large || err != nil || event.Outcome != idempotent.OutcomeReplayed {
		t.Errorf("replayed %q, %v, %+v", value, err, event)
	}
}

func TestSmallResultsAndErrorsStayInTheRecord(t *testing.T) {
	final := idempotent.Permanent(errors.New(large))
	for name, handler := range map[string]func(context.Context) (string, error){"result": returns("small"), "error": failsWith(final)} {
		store, payloads := memory.New(0), newShelf()
		_, _, _ = do(t.Context(), newExecutor(t, store, spilling(payloads)), handler)
		if r := stored(t, store); r.Data == nil || r.Payload != "" || payloads.puts != 0 {
			t.Errorf("%s: stored %+v after %d puts", name, r, payloads.puts)
		}
	}
}

func TestDefaultPayloadAbove(t *testing.T) {
	for size, elsewhere := range map[int]bool{256<<10 - 2: false, 256<<10 - 1: true} { // and two quotes
		store := memory.New(0)
		x := newExecutor(t, store, &idempotent.Config{Payloads: newShelf()})
		if _, _, err := do(t.Context(), x, returns(strings.Repeat("a", size))); err != nil {
			t.Fatal(err)
		}
		if r := stored(t, store); (r.Payload != "") != elsewhere {
			t.Errorf("a text of %d bytes: reference %q", size, r.Payload)
		}
	}
}

// A short outage of the payload store loses no result.
func TestPutIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, payloads := memory.New(0), newShelf()
		payloads.put = func(context.Context) (string, error) {
			if payloads.puts < 4 {
				return "", errNetwork
			}
			return "", nil
		}
		if _, event, err := do(t.Context(), newExecutor(t, store, spilling(payloads)), returns(large)); err != nil || event.Err != nil {
			t.Errorf("got %v, %v", err, event.Err)
		}
		if r := stored(t, store); r.Payload == "" || payloads.puts != 4 {
			t.Errorf("stored %+v after %d puts", r, payloads.puts)
		}
	})
}

// The work is done: a result that cannot be stored is lost, and the work is not
// repeated. A third of the time remains to record that.
func TestPutThatFailsUntilTheDeadline(t *testing.T) {
	down := func(context.Context) (string, error) { return "", errNetwork }
	hangs := func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }
	for name, put := range map[string]func(context.Context) (string, error){"down": down, "hangs": hangs} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, payloads := memory.New(0), newShelf()
				payloads.put = put
				config := spilling(payloads)
				config.Lease = 30 * time.Second
				began := time.Now()
				value, event, err := do(t.Context(), newExecutor(t, store, config), returns(large))
				if value != large || err != nil || event.Outcome != idempotent.OutcomeExecuted {
					t.Errorf("got %.10q, %v, %+v", value, err, event)
				}
				if !errors.Is(event.Err, idempotent.ErrResultUnavailable) || name == "down" && !errors.Is(event.Err, errNetwork) {
					t.Errorf("observed %v", event.Err)
				}
				if took := time.Since(began); took < 15*time.Second || took > 20*time.Second || payloads.puts < 3 {
					t.Errorf("%d tries in %v of 30 s", payloads.puts, took)
				}
				if r := stored(t, store); r.Status != driver.Completed || r.Unavailable == "" || r.Payload != "" || r.Data != nil {
					t.Errorf("stored %+v", r)
				}
				payloads.put = nil
				if _, _, err := do(t.Context(), newExecutor(t, store, config), mustNotRun(t)); !errors.Is(err, idempotent.ErrResultUnavailable) {
					t.Errorf("a replay: %v", err)
				}
			})
		})
	}
}

// A Put that cannot succeed costs the caller no time.
func TestPutThatCannotSucceedIsNotRetried(t *testing.T) {
	for name, put := range map[string]func(context.Context) (string, error){
		"permanent":      func(context.Context) (string, error) { return "", idempotent.Permanent(errMissing) },
		"panic":          func(context.Context) (string, error) { panic("bug") },
		"long reference": func(context.Context) (string, error) { return strings.Repeat("r", 2049), nil },
		"not UTF-8":      func(context.Context) (string, error) { return "\xff", nil },
	} {
		store, payloads := memory.New(0), newShelf()
		payloads.put = put
		x := newExecutor(t, store, spilling(payloads))
		if value, event, err := do(t.Context(), x, returns(large)); value != large || err != nil || event.Err == nil || payloads.puts != 1 {
			t.Errorf("%s: %.10q, %v, %v after %d puts", name, value, err, event.Err, payloads.puts)
		}
		if r := stored(t, store); r.Status != driver.Completed || r.Unavailable == "" {
			t.Errorf("%s: stored %+v", name, r)
		}
	}
}

// Goexit in the payload store leaves a record that says that the work is done.
func TestPutThatEndsTheGoroutine(t *testing.T) {
	store, payloads := memory.New(0), newShelf()
	payloads.put = func(context.Context) (string, error) { runtime.Goexit(); return "", nil }
	x, ended := newExecutor(t, store, spilling(payloads)), make(chan struct{})
	go func() {
		defer close(ended)
		_, _, _ = do(t.Context(), x, returns(large))
	}()
	<-ended
	if r := stored(t, store); r.Status != driver.Completed || r.Unavailable == "" {
		t.Errorf("stored %+v", r)
	}
}

// A payload that cannot be read now may be readable later. The work is not
// repeated, and the failure is not cached.
func TestGetThatFails(t *testing.T) {
	for name, get := range map[string]func() error{
		"missing":   func() error { return errMissing },
		"permanent": func() error { return idempotent.Permanent(errMissing) },
		"panic":     func() error { panic(errMissing.Error()) },
	} {
		t.Run(name, func(t *testing.T) {
			store, payloads := memory.New(0), newShelf()
			config := spilling(payloads)
			config.CacheEntries, config.Wait = 10, time.Minute
			first, second := newExecutor(t, store, config), newExecutor(t, store, config)
			if _, _, err := do(t.Context(), first, returns(large)); err != nil {
				t.Fatal(err)
			}
			for i, x := range []*idempotent.Executor{first, second, second} {
				payloads.get = get
				_, event, err := do(t.Context(), x, mustNotRun(t))
				var unavailable *idempotent.ResultUnavailableError
				if !errors.As(err, &unavailable) || unavailable.Err == nil || !strings.Contains(unavailable.Err.Error(), errMissing.Error()) {
					t.Errorf("call %d: %v", i, err)
				}
				if event.Outcome != idempotent.OutcomeReplayed || event.Cached != (i != 1) {
					t.Errorf("call %d: %+v", i, event)
				}
				payloads.get = nil
				if value, _, err := do(t.Context(), x, mustNotRun(t)); value != large || err != nil {
					t.Errorf("call %d, repeated: %.10q, %v", i, value, err)
				}
			}
		})
	}
}

func TestReferenceWithoutPayloads(t *testing.T) {
	store := memory.New(0)
	if _, _, err := do(t.Context(), newExecutor(t, store, spilling(newShelf())), returns(large)); err != nil {
		t.Fatal(err)
	}
	_, _, err := do(t.Context(), newExecutor(t, store, nil), mustNotRun(t))
	if !errors.Is(err, idempotent.ErrResultUnavailable) || !strings.Contains(err.Error(), "Config.Payloads") {
		t.Errorf("got %v", err)
	}
}

// A caller that asks for no result is not told that it is missing.
func TestEffectsFetchNothing(t *testing.T) {
	store, payloads := memory.New(0), newShelf()
	x := newExecutor(t, store, spilling(payloads))
	if _, _, err := do(t.Context(), x, returns(large)); err != nil {
		t.Fatal(err)
	}
	payloads.get = func() error { return errMissing }
	effect := idempotent.WrapEffect(x, func(int) (idempotent.Key, error) { return theKey, nil }, func(context.Context, int) error {
		t.Error("it ran")
		return nil
	})
	if err := effect(t.Context(), 1); err != nil || payloads.gets != 0 {
		t.Errorf("got %v after %d gets", err, payloads.gets)
	}
}

// The lost write may have stored the reference. The record that is met then is
// this call's own.
func TestLostAnswerWithAReference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, payloads, lost := memory.New(0), newShelf(), false
		flaky := &proxy{Store: store, change: func(_ context.Context, _ driver.Fence, _ driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			r, ok, err := next()
			if !lost {
				lost = true
				return driver.Record{}, false, errNetwork
			}
			return r, ok, err
		}}
		value, event, err := do(t.Context(), newExecutor(t, flaky, spilling(payloads)), returns(large))
		if value != large || err != nil || event.Outcome != idempotent.OutcomeExecuted || payloads.gets != 0 {
			t.Errorf("got %.10q, %v, %+v after %d gets", value, err, event, payloads.gets)
		}
	})
}

// Another writer has replaced the reference under this call's token. Every
// caller receives what is stored.
func TestReferenceOfAnother(t *testing.T) {
	store, payloads := memory.New(0), newShelf()
	theirs, err := payloads.Put(t.Context(), []byte(`"theirs"`))
	if err != nil {
		t.Fatal(err)
	}
	foreign := &proxy{Store: store, change: func(_ context.Context, _ driver.Fence, _ driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		r, _, err := next()
		if err != nil {
			return r, false, err
		}
		r.Payload = theirs
		return r, false, store.Put(r)
	}}
	if value, _, err := do(t.Context(), newExecutor(t, foreign, spilling(payloads)), returns(large)); value != "theirs" || err != nil {
		t.Errorf("got %.10q, %v", value, err)
	}
}

// A Reserve above the default leaves time for a large payload.
func TestReserveIsTimeToPut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, payloads := memory.New(0), newShelf()
		payloads.put = func(ctx context.Context) (string, error) {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(40 * time.Second):
				return "", nil
			}
		}
		config := spilling(payloads)
		config.Lease, config.Reserve = 10*time.Minute, 3*time.Minute
		if value, event, err := do(t.Context(), newExecutor(t, store, config), returns(large)); value != large || err != nil || event.Err != nil {
			t.Errorf("got %.10q, %v, %v", value, err, event.Err)
		}
		if r := stored(t, store); r.Payload == "" {
			t.Errorf("stored %+v", r)
		}
	})
}

// The time to record the result of an optimistic run is counted from the
// handler's return.
func TestLongOptimisticRunHasTimeToPut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, payloads := newBank(), newShelf()
		payloads.put = func(ctx context.Context) (string, error) {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(2 * time.Second):
				return "", nil
			}
		}
		config := spilling(payloads)
		config.Optimistic = true
		slow := func(context.Context) (string, error) {
			time.Sleep(2 * time.Minute)
			return large, nil
		}
		if _, event, err := do(t.Context(), newExecutor(t, b, config), slow); err != nil || event.Err != nil {
			t.Errorf("got %v, %v", err, event.Err)
		}
		if r := stored(t, b); r.Payload == "" {
			t.Errorf("stored %+v", r)
		}
	})
}
