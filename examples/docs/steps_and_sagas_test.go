package docs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
)

// The code of docs/steps-and-sagas.md. That of the saga is in examples/checkout.

type trip struct{ ID string }

type booking struct{ Flight, Hotel string }

// service books flights and hotels.
type service struct {
	flights, hotels func(ctx context.Context, key string, t trip) (string, error)
}

func (s service) book(ctx context.Context, t trip) (booking, error) {
	flight, err := idempotent.Step(ctx, "flight", func(ctx context.Context) (string, error) {
		return s.flights(ctx, idempotent.DownstreamKey(ctx, "book-flight"), t)
	})
	if err != nil {
		return booking{}, err
	}
	hotel, err := idempotent.Step(ctx, "hotel", func(ctx context.Context) (string, error) {
		return s.hotels(ctx, idempotent.DownstreamKey(ctx, "book-hotel"), t)
	})
	return booking{Flight: flight, Hotel: hotel}, err
}

func TestStepsPageOfAFailureBetweenSteps(t *testing.T) {
	x := executor(t, "book-trip", nil)
	full, flights, keys := errors.New("the hotel is full"), 0, map[string]int{}
	s := service{
		flights: func(_ context.Context, key string, _ trip) (string, error) {
			flights++
			return "f-1", nil
		},
		hotels: func(_ context.Context, key string, _ trip) (string, error) {
			if keys[key]++; keys[key] == 1 {
				return "", full
			}
			return "h-1", nil
		},
	}
	handler := idempotent.Wrap(x, idempotent.Field(func(t trip) string { return t.ID }), s.book)
	_, err := handler(t.Context(), trip{"t"})
	check.Is(t, err, full, "first attempt")
	got, err := handler(t.Context(), trip{"t"})
	check.Nil(t, err, "second attempt")
	check.Equal(t, got, booking{"f-1", "h-1"}, "second attempt")
	check.Equal(t, flights, 1, "flights")
	check.Equal(t, len(keys), 1, "keys that the hotel got")
}
