package seal_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/idempotent/seal"
	"github.com/lambda-once/once/internal/check"
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

func pay(t *testing.T, store driver.Store, s driver.Sealer, id string, run func() (string, error)) (string, idempotent.Event, error) {
	t.Helper()
	x, err := idempotent.New("pay", store, &idempotent.Config{Sealer: s})
	check.Must(t, err)
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

// replays expects that the result is stored, and can be opened.
func replays(t *testing.T, store driver.Store, s driver.Sealer, id, want string) {
	t.Helper()
	value, _, err := pay(t, store, s, id, mustNotRun(t))
	check.Equal(t, value, want)
	check.Nil(t, err)
}

func TestExecutorSeals(t *testing.T) {
	store, k := newSpy(), &kms{}
	_, _, err := pay(t, store, dataKeys(t, k, "arn", nil), "1", returns("secret"))
	check.Must(t, err)
	if id, ok := seal.KeyID(store.last.Data); !ok || id != "arn" || bytes.Contains(store.last.Data, []byte("secret")) {
		t.Errorf("stored %q", store.last.Data)
	}
	replays(t, store, dataKeys(t, k, "arn", nil), "1", "secret")
}

// A result under another record's id is nobody's result.
func TestExecutorRefusesAMovedResult(t *testing.T) {
	store, k := newSpy(), &kms{}
	var records []driver.Record
	for _, id := range []string{"cheap", "dear"} {
		_, _, err := pay(t, store, dataKeys(t, k, "arn", nil), id, returns(id))
		check.Must(t, err)
		records = append(records, store.last)
	}
	forged := records[1]
	forged.Data = records[0].Data
	check.Must(t, store.Put(forged))
	value, _, err := pay(t, store, dataKeys(t, k, "arn", nil), "dear", mustNotRun(t))
	check.Equal(t, value, "")
	check.Is(t, err, idempotent.ErrResultUnavailable)
	check.Is(t, err, seal.ErrAltered)
}

// An outage while the result is sealed costs the result, and never a second run.
func TestOutageAtSeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, k := newSpy(), &kms{generate: down}
		s := dataKeys(t, k, "arn", nil)
		value, event, err := pay(t, store, s, "1", returns("secret"))
		check.Equal(t, value, "secret")
		check.Nil(t, err)
		check.Equal(t, event.Outcome, idempotent.OutcomeExecuted)
		check.Is(t, event.Err, errOutage)
		check.Equal(t, store.last.Status, driver.Completed)
		check.Differ(t, store.last.Unavailable, "")
		check.True(t, store.last.Data == nil)
		check.True(t, k.generations >= 3, k.generations)
		k.generate = nil
		_, _, err = pay(t, store, s, "1", mustNotRun(t))
		check.Is(t, err, idempotent.ErrResultUnavailable)
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
		_, event, err := pay(t, store, dataKeys(t, k, "arn", nil), "1", returns("secret"))
		check.Nil(t, err)
		check.Nil(t, event.Err)
		replays(t, store, dataKeys(t, k, "arn", nil), "1", "secret")
	})
}

// An outage while a result is opened costs nothing but that call.
func TestOutageAtOpen(t *testing.T) {
	store, k := newSpy(), &kms{}
	_, _, err := pay(t, store, dataKeys(t, k, "arn", nil), "1", returns("secret"))
	check.Must(t, err)
	k.decrypt = down
	s := dataKeys(t, k, "arn", nil)
	_, _, err = pay(t, store, s, "1", mustNotRun(t))
	check.Is(t, err, idempotent.ErrResultUnavailable)
	check.Is(t, err, errOutage)
	k.decrypt = nil
	replays(t, store, s, "1", "secret")
}

// Records from before the Sealer are accepted only with AcceptPlain.
func TestMigration(t *testing.T) {
	store := newSpy()
	if _, _, err := pay(t, store, nil, "1", returns("plain")); err != nil {
		t.Fatal(err)
	}
	keys, err := seal.Static("a", map[string][]byte{"a": secret(1)})
	check.Must(t, err)
	_, _, err = pay(t, store, seal.New(keys, nil), "1", mustNotRun(t))
	check.Is(t, err, seal.ErrPlain)
	check.Is(t, err, idempotent.ErrResultUnavailable)
	replays(t, store, seal.New(keys, &seal.Options{AcceptPlain: true}), "1", "plain")
}
