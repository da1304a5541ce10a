package seal_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/idempotent/seal"
)

// spy records writes, and lets tests plant records.
type spy struct {
	*memory.Store
	mu   sync.Mutex
	last driver.Record
}

func (s *spy) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	r, ok, err := s.Store.Change(ctx, f, c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = r
	return r, ok, err
}

func newSpy() *spy { return &spy{Store: memory.New(0)} }

func pay(t *testing.T, store driver.Store, s idempotent.Sealer, id string, run func() (string, error)) (string, idempotent.Event, error) {
	t.Helper()
	x, err := idempotent.New("pay", store, &idempotent.Config{Sealer: s})
	if err != nil {
		t.Fatal(err)
	}
	ctx, event := adapter.WithEvent(t.Context())
	value, err := idempotent.Do(ctx, x, idempotent.Key{ID: id}, func(context.Context) (string, error) { return run() })
	return value, *event, err
}

func returns(value string) func() (string, error) {
	return func() (string, error) { return value, nil }
}

func mustNotRun(t *testing.T) func() (string, error) {
	return func() (string, error) {
		t.Helper()
		t.Error("the work was done again")
		return "", nil
	}
}

func TestExecutorSeals(t *testing.T) {
	store, k := newSpy(), &kms{}
	if _, _, err := pay(t, store, dataKeys(t, k, "arn", nil), "1", returns("secret")); err != nil {
		t.Fatal(err)
	}
	if id, ok := seal.KeyID(store.last.Data); !ok || id != "arn" || bytes.Contains(store.last.Data, []byte("secret")) {
		t.Errorf("stored %q", store.last.Data)
	}
	if value, _, err := pay(t, store, dataKeys(t, k, "arn", nil), "1", mustNotRun(t)); value != "secret" || err != nil {
		t.Errorf("another process got %q, %v", value, err)
	}
}

// A result under another record's id is nobody's result.
func TestExecutorRefusesAMovedResult(t *testing.T) {
	store, k := newSpy(), &kms{}
	var records []driver.Record
	for _, id := range []string{"cheap", "dear"} {
		if _, _, err := pay(t, store, dataKeys(t, k, "arn", nil), id, returns(id)); err != nil {
			t.Fatal(err)
		}
		records = append(records, store.last)
	}
	forged := records[1]
	forged.Data = records[0].Data
	if err := store.Put(forged); err != nil {
		t.Fatal(err)
	}
	value, _, err := pay(t, store, dataKeys(t, k, "arn", nil), "dear", mustNotRun(t))
	if value != "" || !errors.Is(err, idempotent.ErrResultUnavailable) || !errors.Is(err, seal.ErrAltered) {
		t.Errorf("got %q, %v", value, err)
	}
}

// An outage while the result is sealed costs the result, and never a second run.
func TestOutageAtSeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, k := newSpy(), &kms{generate: down}
		s := dataKeys(t, k, "arn", nil)
		value, event, err := pay(t, store, s, "1", returns("secret"))
		if value != "secret" || err != nil || event.Outcome != idempotent.OutcomeExecuted || !errors.Is(event.Err, errOutage) {
			t.Errorf("got %q, %v, %+v", value, err, event)
		}
		if store.last.Status != driver.Completed || store.last.Unavailable == "" || store.last.Data != nil || k.generations < 3 {
			t.Errorf("stored %+v after %d requests", store.last, k.generations)
		}
		k.generate = nil
		if _, _, err := pay(t, store, s, "1", mustNotRun(t)); !errors.Is(err, idempotent.ErrResultUnavailable) {
			t.Errorf("replayed %v", err)
		}
	})
}

// A short outage costs a short wait.
func TestHiccupAtSeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, began := newSpy(), time.Now()
		k := &kms{generate: func(context.Context) error {
			if time.Since(began) < 5*time.Second {
				return errOutage
			}
			return nil
		}}
		if _, event, err := pay(t, store, dataKeys(t, k, "arn", nil), "1", returns("secret")); err != nil || event.Err != nil {
			t.Errorf("got %v, %v", err, event.Err)
		}
		if value, _, err := pay(t, store, dataKeys(t, k, "arn", nil), "1", mustNotRun(t)); value != "secret" || err != nil {
			t.Errorf("replayed %q, %v", value, err)
		}
	})
}

// An outage while a result is opened costs nothing but that call.
func TestOutageAtOpen(t *testing.T) {
	store, k := newSpy(), &kms{}
	if _, _, err := pay(t, store, dataKeys(t, k, "arn", nil), "1", returns("secret")); err != nil {
		t.Fatal(err)
	}
	k.decrypt = down
	s := dataKeys(t, k, "arn", nil)
	if _, _, err := pay(t, store, s, "1", mustNotRun(t)); !errors.Is(err, idempotent.ErrResultUnavailable) || !errors.Is(err, errOutage) {
		t.Errorf("got %v", err)
	}
	k.decrypt = nil
	if value, _, err := pay(t, store, s, "1", mustNotRun(t)); value != "secret" || err != nil {
		t.Errorf("after the outage: %q, %v", value, err)
	}
}

// Records from before the Sealer are accepted only with AcceptPlain.
func TestMigration(t *testing.T) {
	store := newSpy()
	if _, _, err := pay(t, store, nil, "1", returns("plain")); err != nil {
		t.Fatal(err)
	}
	keys, err := seal.Static("a", map[string][]byte{"a": secret(1)})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := pay(t, store, seal.New(keys, nil), "1", mustNotRun(t)); !errors.Is(err, seal.ErrPlain) || !errors.Is(err, idempotent.ErrResultUnavailable) {
		t.Errorf("strict: %v", err)
	}
	if value, _, err := pay(t, store, seal.New(keys, &seal.Options{AcceptPlain: true}), "1", mustNotRun(t)); value != "plain" || err != nil {
		t.Errorf("lenient: %q, %v", value, err)
	}
}
