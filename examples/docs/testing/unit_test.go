package docs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

type parcel struct{ ID, To string }

func parcelKey(p parcel) (idempotent.Key, error) {
	return idempotent.Key{ID: p.ID, Payload: p}, nil
}

func TestParcelIsShippedOnce(t *testing.T) {
	x, err := idempotent.New("ship-parcel", memory.New(0), nil)
	if err != nil {
		t.Fatal(err)
	}
	shipped := 0
	ship := idempotent.Wrap(x, parcelKey, func(context.Context, parcel) (string, error) {
		shipped++
		return "label-1", nil
	})
	for range 2 {
		label, err := ship(t.Context(), parcel{ID: "p-1", To: "Ada"})
		if err != nil || label != "label-1" {
			t.Errorf("%q, %v", label, err)
		}
	}
	if shipped != 1 {
		t.Errorf("shipped %d times", shipped)
	}

	_, err = ship(t.Context(), parcel{ID: "p-1", To: "Eve"})
	if !errors.Is(err, idempotent.ErrKeyReused) {
		t.Errorf("the same key with another address: %v", err)
	}
}

func label(ctx context.Context, _ parcel) (string, error) {
	return idempotent.DownstreamKey(ctx, "label"), nil
}

func TestLabelAlone(t *testing.T) {
	got, err := label(idempotent.Unprotected(t.Context()), parcel{ID: "p-1"})
	if err != nil || got == "" {
		t.Errorf("%q, %v", got, err)
	}
}
