package idempotent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// backwards is a Sealer in name only: it distinguishes places, and what it
// seals cannot be read at first sight.
type backwards struct {
	fail  error // of Seal,
	fails int   // of its first tries, or of all
	seals int
}

var errForged = errors.New("not sealed for this place")

func head(p driver.Place) []byte {
	return []byte(driver.SealedPrefix + p.Record + "|" + p.Slot + "|")
}

func (b *backwards) Seal(_ context.Context, p driver.Place, data []byte) ([]byte, error) {
	b.seals++
	if b.fail != nil && (b.fails == 0 || b.seals <= b.fails) {
		return nil, b.fail
	}
	data = bytes.Clone(data)
	slices.Reverse(data)
	return append(head(p), data...), nil
}

func (b *backwards) Open(_ context.Context, p driver.Place, sealed []byte) ([]byte, error) {
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
		r := stored(t, store)
		check.True(t, bytes.HasPrefix(r.Data, []byte(driver.SealedPrefix)), name)
		check.False(t, bytes.Contains(r.Data, []byte("secret")), name)
		again, _, err := do(t.Context(), newExecutor(t, store, sealing()), mustNotRun(t))
		check.Equal(t, again, first, name)
		check.Equal(t, fmt.Sprint(err), fmt.Sprint(firstErr), name)
	}
}

// A spilled result is sealed.
func TestPayloadsAreSealed(t *testing.T) {
	store, payloads := memory.New(0), newShelf()
	config := sealing()
	config.Payloads = payloads
	x := newExecutor(t, store, config)
	try(t.Context(), t, x, returns(large)).succeeded()
	for _, object := range payloads.kept {
		check.True(t, bytes.HasPrefix(object, []byte(driver.SealedPrefix)))
	}
	try(t.Context(), t, x, mustNotRun(t)).returned(large)
	check.Equal(t, payloads.gets, 1)
}

// A writer of the table cannot forge a result.
func TestPlantedResultsAreRefused(t *testing.T) {
	store := memory.New(0)
	try(t.Context(), t, newExecutor(t, store, sealing()), returns("secret")).succeeded()
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
		check.Must(t, store.Put(r))
		value, _, err := do(t.Context(), newExecutor(t, store, sealing()), mustNotRun(t))
		check.Equal(t, value, "", name)
		unavailable := check.As[*idempotent.ResultUnavailableError](t, err, name)
		check.Is(t, unavailable.Err, errForged, name)
	}
}

// A codec that takes any bytes would return the sealed ones.
func TestSealedRecordWithoutSealer(t *testing.T) {
	store := memory.New(0)
	handler := func(context.Context) ([]byte, error) { return []byte("secret"), nil }
	sealed := sealing()
	sealed.Codec = plainBytes{}
	_, err := idempotent.Do(t.Context(), newExecutor(t, store, sealed), theKey, handler)
	check.Must(t, err)
	value, err := idempotent.Do(t.Context(), newExecutor(t, store, &idempotent.Config{Codec: plainBytes{}}), theKey, handler)
	check.True(t, value == nil)
	check.Is(t, err, idempotent.ErrResultUnavailable)
	check.Says(t, err, "Config.Sealer")
}

func TestSealThatFails(t *testing.T) {
	final := idempotent.Permanent(errors.New("final"))
	for name, end := range map[string]error{"result": nil, "error": final} {
		synctest.Test(t, func(t *testing.T) {
			store, sealer := memory.New(0), &backwards{fail: errNetwork}
			x := newExecutor(t, store, &idempotent.Config{Sealer: sealer})
			_, event, err := do(t.Context(), x, func(context.Context) (string, error) { return "secret", end })
			check.Is(t, err, errors.Unwrap(end), name)
			check.Is(t, event.Err, errNetwork, name)
			check.True(t, sealer.seals >= 3, sealer.seals, name)
			r := stored(t, store)
			check.Differ(t, r.Unavailable, "", name)
			check.True(t, r.Data == nil, name)
			check.Equal(t, r.Status == driver.Failed, end != nil, name)
			sealer.fail = nil
			_, _, err = do(t.Context(), x, mustNotRun(t))
			check.Is(t, err, idempotent.ErrResultUnavailable, name)
		})
	}
}

// A short outage costs a short wait.
func TestHiccupAtSeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExecutor(t, memory.New(0), &idempotent.Config{Sealer: &backwards{fail: errNetwork, fails: 2}})
		_, event, err := do(t.Context(), x, returns("secret"))
		check.Nil(t, err)
		check.Nil(t, event.Err)
		try(t.Context(), t, x, mustNotRun(t)).returned("secret")
	})
}

// A sealer that seals nothing would go unnoticed.
type idle struct{ backwards }

func (*idle) Seal(_ context.Context, _ driver.Place, data []byte) ([]byte, error) {
	return data, nil
}

func TestSealerWithoutPrefix(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, &idempotent.Config{Sealer: &idle{}})
	_, event, err := do(t.Context(), x, returns("secret"))
	check.Nil(t, err)
	check.Failed(t, event.Err)
	r := stored(t, store)
	check.True(t, r.Data == nil)
	check.Differ(t, r.Unavailable, "")
}

// An empty result stays a result, through a sealer that opens it as nil.
func TestEmptyResultIsSealed(t *testing.T) {
	config := sealing()
	config.Codec = plainBytes{}
	store := memory.New(0)
	handler := func(context.Context) ([]byte, error) { return []byte{}, nil }
	for range 2 {
		value, err := idempotent.Do(t.Context(), newExecutor(t, store, config), theKey, handler)
		check.True(t, value != nil)
		check.Nil(t, err)
	}
}

// An effect has no result to seal, and needs no key.
func TestEffectsAreNotSealed(t *testing.T) {
	sealer := &backwards{fail: errNetwork}
	x := newExecutor(t, memory.New(0), &idempotent.Config{Sealer: sealer})
	effect := idempotent.WrapEffect(x, func(int) (idempotent.Key, error) { return theKey, nil }, func(context.Context, int) error { return nil })
	for range 2 {
		err := effect(t.Context(), 1)
		check.Nil(t, err)
		check.Equal(t, sealer.seals, 0)
	}
}

// A payment that failed is not reported as done when its error cannot be
// opened.
func TestFailureThatCannotBeOpenedIsNotCalledDone(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, sealing())
	try(t.Context(), t, x, failsWith(idempotent.Permanent(errors.New("card declined")))).failed()
	_, _, err := do(t.Context(), newExecutor(t, store, nil), mustNotRun(t))
	unavailable := check.As[*idempotent.ResultUnavailableError](t, err)
	check.True(t, unavailable.Failed)
	check.Lacks(t, err.Error(), "done")
}
