package idempotent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// refusing is a codec for which no result can be stored.
type refusing struct{}

func (refusing) Encode(any) ([]byte, error) { return nil, errors.New("no message of mine") }
func (refusing) Decode([]byte, any) error   { return errors.New("no message of mine") }

func TestWrapEffect(t *testing.T) {
	store := memory.New(0)
	runs := 0
	keep := func(k idempotent.Key) (idempotent.Key, error) { return k, nil }
	x := newExecutor(t, store, &idempotent.Config{Codec: refusing{}})
	once := idempotent.WrapEffect(x, keep, func(context.Context, idempotent.Key) error { runs++; return nil })
	for range 2 {
		if err := once(t.Context(), theKey); err != nil {
			t.Fatal(err)
		}
	}
	if r := stored(t, store); runs != 1 || string(r.Data) != "null" || r.Unavailable != "" {
		t.Errorf("ran %d times, stored %+v", runs, r)
	}

	// Done is done, whatever the call that did it has left.
	other := idempotent.Key{ID: "other"}
	if _, err := idempotent.Do(t.Context(), x, other, func(context.Context) (string, error) { return "receipt", nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := idempotent.Do(t.Context(), x, other, func(context.Context) (string, error) { return "", nil }); !errors.Is(err, idempotent.ErrResultUnavailable) {
		t.Fatalf("the result was to be lost: %v", err)
	}
	if err := once(t.Context(), other); err != nil || runs != 1 {
		t.Errorf("%v, ran %d times", err, runs)
	}

	failing := idempotent.WrapEffect(x, keep, func(context.Context, idempotent.Key) error {
		runs++
		return idempotent.Permanent(errors.New("declined"))
	})
	declined := idempotent.Key{ID: "declined"}
	_ = failing(t.Context(), declined)
	if err := failing(t.Context(), declined); !errors.Is(err, idempotent.ErrReplayed) || runs != 2 {
		t.Errorf("%v, ran %d times", err, runs)
	}
}

func TestEventTellsOfPermanentErrors(t *testing.T) {
	for name, test := range map[string]struct {
		config *idempotent.Config
		err    error
		want   bool
	}{
		"stored":   {nil, idempotent.Permanent(errNetwork), true},
		"released": {&idempotent.Config{ReleasePermanent: true}, idempotent.Permanent(errNetwork), true},
		"another":  {nil, errNetwork, false},
		"none":     {nil, nil, false},
	} {
		_, event, _ := do(t.Context(), newExecutor(t, memory.New(0), test.config), func(context.Context) (string, error) { return "", test.err })
		if event.Permanent != test.want {
			t.Errorf("%s: %+v", name, event)
		}
	}
}
