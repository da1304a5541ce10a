package idempotent_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/memory"
)

// plain is a codec for []byte results, as anyone would write it.
type plainBytes struct{}

func (plainBytes) Encode(result any) ([]byte, error) { return result.([]byte), nil }

func (plainBytes) Decode(data []byte, result any) error {
	*result.(*[]byte) = data
	return nil
}

// Cache, joiners and Memory keep the bytes that the codec gave or got.
func TestCodecThatDoesNotCopy(t *testing.T) {
	for name, config := range map[string]*idempotent.Config{
		"cache":  {Codec: plainBytes{}, CacheEntries: 10},
		"memory": {Codec: plainBytes{}},
	} {
		x := newExecutor(t, memory.New(0), config)
		call := func() []byte {
			got, err := idempotent.Do(t.Context(), x, theKey, func(context.Context) ([]byte, error) { return []byte("paid 100"), nil })
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		copy(call(), "MINE") // the first caller's own bytes
		if got := string(call()); got != "paid 100" {
			t.Errorf("%s: after the first caller changed its result a replay is %q", name, got)
		}
		copy(call(), "HERS")
		if got := string(call()); got != "paid 100" {
			t.Errorf("%s: after a replay was changed the next is %q", name, got)
		}
	}
}

type panicking struct{ inner *string }

func (p *panicking) Error() string { return *p.inner }

// A final error whose Error method panics is not recorded, and the work runs
// again: encode guards the codec against the same.
func TestPermanentErrorThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExecutor(t, memory.New(0), nil)
		runs := 0
		handler := func(context.Context) (string, error) {
			runs++
			return "", idempotent.Permanent((*panicking)(nil))
		}
		for range 2 {
			func() {
				defer func() { _ = recover() }()
				_, _, _ = do(t.Context(), x, handler)
			}()
			time.Sleep(2 * time.Minute)
		}
		if runs != 1 {
			t.Errorf("a permanent failure ran %d times", runs)
		}
	})
}

// A codec that panics in Decode takes the process down at every retry; in
// Encode the same is an error.
type panicsInDecode struct{ idempotent.JSON }

func (panicsInDecode) Decode([]byte, any) error { panic("hostile") }

func TestDecodePanics(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{Codec: panicsInDecode{}})
	_, _, _ = do(t.Context(), x, returns("done"))
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("a replay panicked: %v", p)
		}
	}()
	if _, _, err := do(t.Context(), x, mustNotRun(t)); !errors.Is(err, idempotent.ErrResultUnavailable) {
		t.Error(err)
	}
}

type exitsInEncode struct{ idempotent.JSON }

func (exitsInEncode) Encode(any) ([]byte, error) { runtime.Goexit(); return nil, nil }

// Goexit in the codec (a t.Fatal in MarshalJSON) passes encode's recover: the
// done work stays in progress and runs again.
func TestGoexitInEncode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _, _ = do(context.Background(), newExecutor(t, store, &idempotent.Config{Codec: exitsInEncode{}}), returns("charged"))
		}()
		<-done
		time.Sleep(2 * time.Minute)
		if got, event, err := do(t.Context(), newExecutor(t, store, nil), returns("charged again")); err == nil {
			t.Errorf("done work ran again: %q, %+v", got, event)
		}
	})
}

// Goexit in the codec: the event says "executed" without a word of the result.
func TestGoexitEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		ctx, event := adapter.WithEvent(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = idempotent.Do(ctx, newExecutor(t, store, &idempotent.Config{Codec: exitsInEncode{}}), theKey, returns("charged"))
		}()
		<-done
		if event.Outcome == idempotent.OutcomeExecuted && event.Err == nil {
			t.Errorf("the result is lost, and the observer sees %+v", *event)
		}
	})
	// and when another has taken over meanwhile
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		ctx, event := adapter.WithEvent(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			x := newExecutor(t, frozen(store), &idempotent.Config{Lease: 10 * time.Second, Codec: exitsInEncode{}})
			_, _ = idempotent.Do(ctx, x, theKey, func(context.Context) (string, error) {
				time.Sleep(time.Minute)
				_, _ = idempotent.Do(context.Background(), newExecutor(t, store, nil), theKey, returns("theirs"))
				return "zombie", nil
			})
		}()
		<-done
		if event.Outcome != idempotent.OutcomeLeaseLost {
			t.Errorf("the record is another's, and the outcome %q", event.Outcome)
		}
	})
}
