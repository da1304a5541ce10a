package idempotent_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
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

// takes is a Put that takes a time, unless its context ends before.
func takes(d time.Duration) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(d):
			return "", nil
		}
	}
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

var large = strings.Repeat("large ", 50_000)

func spilling(s *shelf) *idempotent.Config {
	return &idempotent.Config{Payloads: s}
}

func TestErrorsStayInTheRecord(t *testing.T) {
	store, payloads := memory.New(0), newShelf()
	try(t.Context(), t, newExecutor(t, store, spilling(payloads)), failsWith(idempotent.Permanent(errors.New(large)))).failed()
	check.True(t, stored(t, store).Data != nil)
	check.Equal(t, payloads.puts, 0)
}

// A sealed result counts as it is stored.
func TestResultsAbove256KiBAreSpilled(t *testing.T) {
	for _, test := range []struct {
		size      int // without two quotes
		sealer    driver.Sealer
		elsewhere bool
	}{
		{256<<10 - 2, nil, false},
		{256<<10 - 1, nil, true},
		{256<<10 - 2, &backwards{}, true},
	} {
		store := memory.New(0)
		x := newExecutor(t, store, &idempotent.Config{Payloads: newShelf(), Sealer: test.sealer})
		try(t.Context(), t, x, returns(strings.Repeat("a", test.size))).succeeded()
		check.Equal(t, stored(t, store).Payload != "", test.elsewhere, test.size, test.sealer != nil)
	}
}

// A short outage of the payload store loses no result, and a Reserve above the default
// leaves time for a large one. That of an optimistic run counts from its handler's return.
func TestPutHasItsTime(t *testing.T) {
	outage := 4
	for name, c := range map[string]struct {
		config idempotent.Config
		put    func(context.Context) (string, error)
		runs   time.Duration
		puts   int
	}{
		"retried": {idempotent.Config{}, func(context.Context) (string, error) {
			if outage--; outage > 0 {
				return "", errNetwork
			}
			return "", nil
		}, 0, 4},
		"a long Reserve":        {idempotent.Config{Lease: 10 * time.Minute, Reserve: 3 * time.Minute}, takes(40 * time.Second), 0, 1},
		"a long optimistic run": {idempotent.Config{Optimistic: true}, takes(2 * time.Second), 2 * time.Minute, 1},
	} {
		bubble(t, name, func(t *testing.T) {
			b, payloads := newBank(), newShelf()
			payloads.put = c.put
			c.config.Payloads = payloads
			r := try(t.Context(), t, newExecutor(t, b, &c.config), func(context.Context) (string, error) {
				time.Sleep(c.runs)
				return large, nil
			}).returned(large)
			check.Nil(t, r.event.Err)
			check.Differ(t, stored(t, b).Payload, "")
			check.Equal(t, payloads.puts, c.puts)
		})
	}
}

// The work is done: a result that cannot be stored is lost, and the work is not
// repeated. A third of the time remains to record that.
func TestPutThatFailsUntilTheDeadline(t *testing.T) {
	down := func(context.Context) (string, error) { return "", errNetwork }
	hangs := func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }
	for name, put := range map[string]func(context.Context) (string, error){"down": down, "hangs": hangs} {
		bubble(t, name, func(t *testing.T) {
			store, payloads := memory.New(0), newShelf()
			payloads.put = put
			config := spilling(payloads)
			config.Lease = 30 * time.Second
			began := time.Now()
			value, event, err := do(t.Context(), newExecutor(t, store, config), returns(large))
			check.Equal(t, value, large)
			check.Nil(t, err)
			check.Equal(t, event.Outcome, idempotent.OutcomeExecuted)
			check.Is(t, event.Err, idempotent.ErrResultUnavailable)
			check.True(t, name == "hangs" || errors.Is(event.Err, errNetwork), event.Err)
			took(t, began, 15*time.Second, 20*time.Second)
			check.True(t, payloads.puts >= 3, payloads.puts)
			r := stored(t, store)
			check.Equal(t, r.Status, driver.Completed)
			check.Differ(t, r.Unavailable, "")
			check.Equal(t, r.Payload, "")
			check.True(t, r.Data == nil)
			payloads.put = nil
			try(t.Context(), t, newExecutor(t, store, config), mustNotRun(t)).is(idempotent.ErrResultUnavailable)
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
		value, event, err := do(t.Context(), x, returns(large))
		check.Equal(t, value, large, name)
		check.Nil(t, err, name)
		check.Failed(t, event.Err, name)
		check.Equal(t, payloads.puts, 1, name)
		r := stored(t, store)
		check.Equal(t, r.Status, driver.Completed, name)
		check.Differ(t, r.Unavailable, "", name)
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
			try(t.Context(), t, first, returns(large)).succeeded()
			for i, x := range []*idempotent.Executor{first, second, second} {
				payloads.get = get
				_, event, err := do(t.Context(), x, mustNotRun(t))
				unavailable := check.As[*idempotent.ResultUnavailableError](t, err, i)
				check.Failed(t, unavailable.Err, i)
				check.Says(t, unavailable.Err, errMissing.Error(), i)
				check.Equal(t, event.Outcome, idempotent.OutcomeReplayed)
				check.Equal(t, event.Cached, (i != 1))
				payloads.get = nil
				value, _, err := do(t.Context(), x, mustNotRun(t))
				check.Equal(t, value, large, i)
				check.Nil(t, err, i)
			}
		})
	}
}

func TestReferenceWithoutPayloads(t *testing.T) {
	store := memory.New(0)
	try(t.Context(), t, newExecutor(t, store, spilling(newShelf())), returns(large)).succeeded()
	_, _, err := do(t.Context(), newExecutor(t, store, nil), mustNotRun(t))
	check.Is(t, err, idempotent.ErrResultUnavailable)
	check.Says(t, err, "Config.Payloads")
}

// The lost write may have stored the reference. The record that is met then is
// this call's own.
func TestLostAnswerWithAReference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, payloads := memory.New(0), newShelf()
		flaky := hooked(store, onFirst(isChange, unanswered))
		try(t.Context(), t, newExecutor(t, flaky, spilling(payloads)), returns(large)).returned(large).ended(idempotent.OutcomeExecuted)
		check.Equal(t, payloads.gets, 0)
	})
}

// Another writer has replaced the reference under this call's token. Every
// caller receives what is stored.
func TestReferenceOfAnother(t *testing.T) {
	store, payloads := memory.New(0), newShelf()
	theirs, err := payloads.Put(t.Context(), []byte(`"theirs"`))
	check.Must(t, err)
	foreign := hooked(store, on(isChange, func(w write) (driver.Record, bool, error) {
		r, _, err := w.send()
		if err != nil {
			return r, false, err
		}
		r.Payload = theirs
		return r, false, store.Put(r)
	}))
	try(t.Context(), t, newExecutor(t, foreign, spilling(payloads)), returns(large)).returned("theirs")
}
