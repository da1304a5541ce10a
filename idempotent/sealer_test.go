package idempotent_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// backwards is a Sealer in name only: it distinguishes places, and what it
// seals cannot be read at first sight.
type backwards struct {
	fail  error // of Seal
	seals int
}

var errForged = errors.New("not sealed for this place")

func head(p idempotent.Place) []byte {
	return []byte(idempotent.SealedPrefix + p.Record + "|" + p.Slot + "|")
}

func (b *backwards) Seal(_ context.Context, p idempotent.Place, data []byte) ([]byte, error) {
	b.seals++
	if b.fail != nil {
		return nil, b.fail
	}
	data = bytes.Clone(data)
	slices.Reverse(data)
	return append(head(p), data...), nil
}

func (b *backwards) Open(_ context.Context, p idempotent.Place, sealed []byte) ([]byte, error) {
	data, ok := bytes.CutPrefix(sealed, head(p))
	if !ok {
		return nil, errForged
	}
	if len(data) == 0 {
		return nil, nil // as cipher.AEAD has it
	}
	data = bytes.Clone(data)
	slices.Reverse(data)
	return data, nil
}

func sealing() *idempotent.Config { return &idempotent.Config{Sealer: &backwards{}} }

func TestResultsAndErrorsAreSealed(t *testing.T) {
	for name, handler := range map[string]func(context.Context) (string, error){
		"result": returns("secret"), "error": failsWith(idempotent.Permanent(errors.New("secret"))),
	} {
		store := memory.New(0)
		first, _, firstErr := do(t.Context(), newExecutor(t, store, sealing()), handler)
		if r := stored(t, store); !bytes.HasPrefix(r.Data, []byte(idempotent.SealedPrefix)) || bytes.Contains(r.Data, []byte("secret")) {
			t.Errorf("%s: stored %q", name, r.Data)
		}
		again, _, err := do(t.Context(), newExecutor(t, store, sealing()), mustNotRun(t))
		if again != first || firstErr != nil && (err == nil || err.Error() != firstErr.Error()) {
			t.Errorf("%s: replayed %q, %v; first %q, %v", name, again, err, first, firstErr)
		}
	}
}

// A spilled result is sealed, and its size is that of the sealed form.
func TestPayloadsAreSealed(t *testing.T) {
	store, payloads := memory.New(0), newShelf()
	config := sealing()
	config.Payloads, config.PayloadAbove = payloads, 50
	x := newExecutor(t, store, config)
	if _, _, err := do(t.Context(), x, returns("a secret")); err != nil {
		t.Fatal(err)
	}
	for _, object := range payloads.kept {
		if !bytes.HasPrefix(object, []byte(idempotent.SealedPrefix)) {
			t.Errorf("kept %q", object)
		}
	}
	if value, _, err := do(t.Context(), x, mustNotRun(t)); value != "a secret" || err != nil || payloads.gets != 1 {
		t.Errorf("got %q, %v after %d gets", value, err, payloads.gets)
	}
}

// A writer of the table cannot forge a result.
func TestPlantedResultsAreRefused(t *testing.T) {
	store := memory.New(0)
	if _, _, err := do(t.Context(), newExecutor(t, store, sealing()), returns("secret")); err != nil {
		t.Fatal(err)
	}
	genuine := stored(t, store)
	moved := bytes.Replace(genuine.Data, []byte(genuine.ID), []byte("another record"), 1)
	for name, plant := range map[string]func(r *driver.Record){
		"plain":                 func(r *driver.Record) { r.Data = []byte(`"planted"`) },
		"no result":             func(r *driver.Record) { r.Data = nil },
		"of another record":     func(r *driver.Record) { r.Data = moved },
		"an error":              func(r *driver.Record) { r.Status, r.Data = driver.Failed, []byte(`{"type":"E"}`) },
		"a result for an error": func(r *driver.Record) { r.Status = driver.Failed },
	} {
		r := genuine
		plant(&r)
		if err := store.Put(r); err != nil {
			t.Fatal(err)
		}
		value, _, err := do(t.Context(), newExecutor(t, store, sealing()), mustNotRun(t))
		var unavailable *idempotent.ResultUnavailableError
		if value != "" || !errors.As(err, &unavailable) || !errors.Is(unavailable.Err, errForged) {
			t.Errorf("%s: got %q, %v", name, value, err)
		}
	}
}

// A codec that takes any bytes would return the sealed ones.
func TestSealedRecordWithoutSealer(t *testing.T) {
	store := memory.New(0)
	handler := func(context.Context) ([]byte, error) { return []byte("secret"), nil }
	sealed := sealing()
	sealed.Codec = plainBytes{}
	if _, err := idempotent.Do(t.Context(), newExecutor(t, store, sealed), theKey, handler); err != nil {
		t.Fatal(err)
	}
	value, err := idempotent.Do(t.Context(), newExecutor(t, store, &idempotent.Config{Codec: plainBytes{}}), theKey, handler)
	if value != nil || !errors.Is(err, idempotent.ErrResultUnavailable) || !strings.Contains(err.Error(), "Config.Sealer") {
		t.Errorf("got %q, %v", value, err)
	}
}

func TestSealThatFails(t *testing.T) {
	final := idempotent.Permanent(errors.New("final"))
	for name, end := range map[string]error{"result": nil, "error": final} {
		synctest.Test(t, func(t *testing.T) {
			store, sealer := memory.New(0), &backwards{fail: errNetwork}
			x := newExecutor(t, store, &idempotent.Config{Sealer: sealer})
			_, event, err := do(t.Context(), x, func(context.Context) (string, error) { return "secret", end })
			if !errors.Is(err, errors.Unwrap(end)) || !errors.Is(event.Err, errNetwork) || sealer.seals < 3 {
				t.Errorf("%s: %v, %+v after %d tries", name, err, event, sealer.seals)
			}
			if r := stored(t, store); r.Unavailable == "" || r.Data != nil || (r.Status == driver.Failed) != (end != nil) {
				t.Errorf("%s: stored %+v", name, r)
			}
			sealer.fail = nil
			if _, _, err := do(t.Context(), x, mustNotRun(t)); !errors.Is(err, idempotent.ErrResultUnavailable) {
				t.Errorf("%s: replayed %v", name, err)
			}
		})
	}
}

// A sealer that seals nothing would go unnoticed.
type idle struct{ backwards }

func (*idle) Seal(_ context.Context, _ idempotent.Place, data []byte) ([]byte, error) {
	return data, nil
}

func TestSealerWithoutPrefix(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, &idempotent.Config{Sealer: &idle{}})
	if _, event, err := do(t.Context(), x, returns("secret")); err != nil || event.Err == nil {
		t.Errorf("got %v, %v", err, event.Err)
	}
	if r := stored(t, store); r.Data != nil || r.Unavailable == "" {
		t.Errorf("stored %+v", r)
	}
}

// An empty result stays a result, through a sealer that opens it as nil.
func TestEmptyResultIsSealed(t *testing.T) {
	config := sealing()
	config.Codec = plainBytes{}
	store := memory.New(0)
	handler := func(context.Context) ([]byte, error) { return []byte{}, nil }
	for range 2 {
		if value, err := idempotent.Do(t.Context(), newExecutor(t, store, config), theKey, handler); value == nil || err != nil {
			t.Errorf("got %v, %v", value, err)
		}
	}
}

// An effect has no result to seal, and needs no key.
func TestEffectsAreNotSealed(t *testing.T) {
	sealer := &backwards{fail: errNetwork}
	x := newExecutor(t, memory.New(0), &idempotent.Config{Sealer: sealer})
	effect := idempotent.WrapEffect(x, func(int) (idempotent.Key, error) { return theKey, nil }, func(context.Context, int) error { return nil })
	for range 2 {
		if err := effect(t.Context(), 1); err != nil || sealer.seals != 0 {
			t.Errorf("got %v after %d seals", err, sealer.seals)
		}
	}
}

func TestSealsWithASealerAlone(t *testing.T) {
	if newExecutor(t, memory.New(0), nil).Seals() {
		t.Error("without a Sealer")
	}
	if !newExecutor(t, memory.New(0), &idempotent.Config{Sealer: struct{ idempotent.Sealer }{}}).Seals() {
		t.Error("with a Sealer")
	}
}

// A payment that failed is not reported as done when its error cannot be
// opened.
func TestFailureThatCannotBeOpenedIsNotCalledDone(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, sealing())
	if _, _, err := do(t.Context(), x, failsWith(idempotent.Permanent(errors.New("card declined")))); err == nil {
		t.Fatal("no error")
	}
	_, _, err := do(t.Context(), newExecutor(t, store, nil), mustNotRun(t))
	var unavailable *idempotent.ResultUnavailableError
	if !errors.As(err, &unavailable) || !unavailable.Failed || strings.Contains(err.Error(), "done") {
		t.Errorf("got %v", err)
	}

	store = memory.New(0)
	if _, _, err := do(t.Context(), newExecutor(t, store, sealing()), returns("paid")); err != nil {
		t.Fatal(err)
	}
	_, _, err = do(t.Context(), newExecutor(t, store, nil), mustNotRun(t))
	if !errors.As(err, &unavailable) || unavailable.Failed {
		t.Errorf("a result: %v", err)
	}
}
