package s3payload_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/idempotent/s3payload"
	"github.com/lambda-once/once/internal/check"
)

// call is a call of a new process, which shares the table and S3 alone.
func (s *server) call(store driver.Store, handler func(context.Context) ([]byte, error)) ([]byte, *idempotent.Event, error) {
	s.Helper()
	x, err := idempotent.New("render", store, &idempotent.Config{Payloads: s.store(nil)})
	check.Must(s, err)
	ctx, event := adapter.WithEvent(s.Context())
	data, err := idempotent.Do(ctx, x, idempotent.Key{ID: "1"}, handler)
	return data, event, err
}

func returns(data []byte) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return data, nil }
}

func (s *server) mustNotRun(context.Context) ([]byte, error) {
	s.Error("the work was done again")
	return nil, nil
}

// A result of 10 MB, which is too large for an item, is replayed by a second
// process. If the object cannot be read, calls return the reason, and the work
// never runs again.
func TestLargeResult(t *testing.T) {
	s, store := newServer(t), memory.New(0)
	result := bytes.Repeat([]byte("0123456789"), 1_000_000)
	if data, _, err := s.call(store, returns(result)); err != nil || !bytes.Equal(data, result) {
		t.Fatalf("got %d bytes, %v", len(data), err)
	}
	replay := func() {
		t.Helper()
		data, event, err := s.call(store, s.mustNotRun)
		if err != nil || !bytes.Equal(data, result) || event.Outcome != idempotent.OutcomeReplayed {
			t.Errorf("replayed %d bytes, %v, %+v", len(data), err, event)
		}
	}
	unavailable := func(want error) {
		t.Helper()
		_, event, err := s.call(store, s.mustNotRun)
		if !errors.Is(err, idempotent.ErrResultUnavailable) || want != nil && !errors.Is(err, want) || event.Outcome != idempotent.OutcomeReplayed {
			t.Errorf("got %v, %+v; want %v", err, event, want)
		}
	}
	replay()
	if keys := s.objects(); len(keys) != 1 || !strings.HasPrefix(keys[0], "once/") {
		t.Fatalf("objects %q", keys)
	}
	key := s.objects()[0]
	s.refuse(refusal(http.StatusServiceUnavailable, "SlowDown"))
	unavailable(nil)
	s.refuse(nil)
	replay()
	s.overwrite(key, []byte("altered"))
	unavailable(s3payload.ErrAltered)
	s.delete(key)
	unavailable(s3payload.ErrMissing)
}

// counting counts the results that it is to store.
type counting struct {
	driver.PayloadStore
	puts int
}

func (c *counting) Put(ctx context.Context, data []byte) (string, error) {
	c.puts++
	return c.PayloadStore.Put(ctx, data)
}

// A result that no try could store is not retried.
func TestResultBeyondTheLimit(t *testing.T) {
	s, store := newServer(t), memory.New(0)
	payloads := &counting{PayloadStore: s.store(&s3payload.Options{MaxBytes: 300 << 10})}
	x, err := idempotent.New("render", store, &idempotent.Config{Payloads: payloads})
	check.Must(t, err)
	ctx, event := adapter.WithEvent(t.Context())
	_, err = idempotent.Do(ctx, x, idempotent.Key{ID: "1"}, returns(bytes.Repeat([]byte("x"), 300<<10)))
	if err != nil || !errors.Is(event.Err, s3payload.ErrTooLarge) || payloads.puts != 1 {
		t.Errorf("got %v, %v after %d tries", err, event.Err, payloads.puts)
	}
}
