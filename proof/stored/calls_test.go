// Package stored tests that this version reads, finishes and takes over the records of
// released versions. The test data of a release is never changed.
package stored

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/seal"
	"github.com/lambda-once/once/internal/check"
)

// A call is made once by the release that stores its record, and later by this version.
type call struct {
	config idempotent.Config
	first  func(ctx context.Context) (string, error)
	cut    bool // the process of the first call dies before its completion
	// again must not run if it is nil.
	again   func(ctx context.Context) (string, error)
	payload string // of the later call, if it is a different one
	outcome idempotent.Outcome
	result  string
	err     error
	says    string // the text of the error, where its type is not exported
}

var (
	long       = strings.Repeat("a long result ", 1000)
	errRefused = errors.New("the card is refused")
	undone     []string
)

func returns(s string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return s, nil }
}

// runs returns a step that fails if its result is not stored.
func runs(ctx context.Context, name string, live bool) (string, error) {
	return idempotent.Step(ctx, name, func(context.Context) (string, error) {
		if !live {
			return "", fmt.Errorf("step %s ran again", name)
		}
		return "of " + name, nil
	})
}

func saga(ctx context.Context, live bool) (string, error) {
	_, err := idempotent.SagaStep(ctx, "reserve", func(context.Context) (string, error) {
		if !live {
			return "", errors.New("the saga step ran again")
		}
		return "seat 7", nil
	}, func(_ context.Context, seat string) error {
		undone = append(undone, seat)
		return nil
	})
	return "", errors.Join(err, idempotent.Permanent(errRefused))
}

// calls are all forms of records. A name is that of an operation and of a file.
func calls() map[string]call {
	keys, err := seal.Static("2026", map[string][]byte{"2026": bytes.Repeat([]byte{7}, 32)})
	if err != nil {
		panic(err)
	}
	sealed := idempotent.Config{Sealer: seal.New(keys, nil)}
	stepped := func(live bool) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) { return runs(ctx, "a.b", live) }
	}
	return map[string]call{
		"completed":     {first: returns("done"), outcome: idempotent.OutcomeReplayed, result: "done"},
		"empty":         {first: returns(""), outcome: idempotent.OutcomeReplayed},
		"long":          {first: returns(long), outcome: idempotent.OutcomeReplayed, result: long},
		"sealed":        {config: sealed, first: returns("secret"), outcome: idempotent.OutcomeReplayed, result: "secret"},
		"unavailable":   {config: idempotent.Config{Codec: broken{}}, first: returns("done"), outcome: idempotent.OutcomeReplayed, err: idempotent.ErrResultUnavailable},
		"failed":        {first: func(context.Context) (string, error) { return "", idempotent.Permanent(errRefused) }, outcome: idempotent.OutcomeReplayed, err: idempotent.ErrReplayed},
		"other-payload": {first: returns("done"), payload: "other", outcome: idempotent.OutcomeMismatch, err: idempotent.ErrKeyReused},
		"lapsed":        {first: returns("lost"), cut: true, again: returns("again"), outcome: idempotent.OutcomeTakeover, result: "again"},
		"lapsed-once":   {config: idempotent.Config{MaxAttempts: 1}, first: returns("lost"), cut: true, outcome: idempotent.OutcomeUnknown, err: idempotent.ErrOutcomeUnknown},
		"lapsed-steps":  {first: stepped(true), cut: true, again: stepped(false), outcome: idempotent.OutcomeTakeover, result: "of a.b"},
		"lapsed-sealed": {config: sealed, first: stepped(true), cut: true, again: stepped(false), outcome: idempotent.OutcomeTakeover, result: "of a.b"},
		"lapsed-saga":   {first: func(ctx context.Context) (string, error) { return saga(ctx, true) }, cut: true, again: func(ctx context.Context) (string, error) { return saga(ctx, false) }, outcome: idempotent.OutcomeFailed, says: errRefused.Error()},
		"released":      {config: idempotent.Config{MaxAttempts: 9}, first: func(context.Context) (string, error) { return "", errRefused }, again: returns("again"), outcome: idempotent.OutcomeTakeover, result: "again"},
		"released-steps": {first: func(ctx context.Context) (string, error) {
			_, err := runs(ctx, "a.b", true)
			return "", errors.Join(err, errRefused)
		}, again: stepped(false), outcome: idempotent.OutcomeTakeover, result: "of a.b"},
	}
}

// broken is a codec whose results cannot be stored.
type broken struct{ idempotent.JSON }

func (broken) Encode(any) ([]byte, error) { return nil, errors.New("not encodable") }

// dying is a store whose process dies before it finishes a record.
type dying struct{ driver.Store }

func (d dying) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	if c.Steps == nil || len(undone) > 0 {
		return driver.Record{}, false, errors.New("dead")
	}
	return d.Store.Change(ctx, f, c)
}

// key is the same in all versions.
func (c call) do(ctx context.Context, name, payload string, s driver.Store, fn func(context.Context) (string, error)) (string, idempotent.Event, error) {
	config := c.config
	config.Retention, config.Lease, config.Reserve = 250*365*24*time.Hour, time.Second, 100*time.Millisecond
	config.Observer = idempotent.NoObserver{}
	x, err := idempotent.New(name, s, &config)
	if err != nil {
		return "", idempotent.Event{}, err
	}
	ctx, event := adapter.WithEvent(ctx)
	result, err := idempotent.Do(ctx, x, idempotent.Key{Scope: "ada", ID: "order-17", Payload: payload}, fn)
	return result, *event, err
}

// store makes the first call.
func (c call) store(ctx context.Context, t *testing.T, name string, s driver.Store) {
	t.Helper()
	if c.cut {
		s = dying{s}
	}
	undone = nil
	if _, event, err := c.do(ctx, name, "payload", s, c.first); event.Attempt != 1 {
		t.Fatalf("the first call: attempt %d, %v", event.Attempt, err)
	}
}

// check makes the later call.
func (c call) check(ctx context.Context, t *testing.T, name string, s driver.Store) {
	t.Helper()
	fn, payload := c.again, "payload"
	if fn == nil {
		fn = func(context.Context) (string, error) {
			t.Error("the handler ran again")
			return "", nil
		}
	}
	if c.payload != "" {
		payload = c.payload
	}
	undone = nil
	result, event, err := c.do(ctx, name, payload, s, fn)
	if result != c.result || event.Outcome != c.outcome || !errors.Is(err, c.err) && c.says == "" || c.says != "" && (err == nil || err.Error() != c.says) {
		t.Errorf("got %.20q, %s, %v; want %.20q, %s, %v", result, event.Outcome, err, c.result, c.outcome, c.err)
	}
	if name == "lapsed-saga" && (len(undone) != 1 || undone[0] != "seat 7") {
		t.Errorf("undone %v", undone)
	}
}

// redact has an operator redact a finished record, and makes its call again.
func redact(t *testing.T, name string, c call, text json.RawMessage, db database) {
	t.Helper()
	check.Must(t, db.plant(t.Context(), text))
	store := db.store.(driver.Operable)
	page, err := store.Scan(t.Context(), driver.Filter{}, "")
	check.Must(t, err)
	e, err := store.Inspect(t.Context(), page.Entries[0].ID)
	check.Must(t, err)
	_, ok, err := store.Apply(t.Context(), e, e.Redaction("ann", "request 7"))
	check.Must(t, err)
	check.True(t, ok)
	left, err := db.read(t.Context())
	check.Must(t, err)
	for _, form := range []string{strings.Trim(string(e.Data), `"`), errRefused.Error(), hex.EncodeToString(e.Data), base64.StdEncoding.EncodeToString(e.Data)} {
		check.False(t, name != "empty" && form != "" && strings.Contains(string(left), form), "the record still has", form)
	}
	if c.outcome == idempotent.OutcomeReplayed {
		c.result, c.err = "", idempotent.ErrResultUnavailable
	}
	c.check(t.Context(), t, name, db.store)
}
