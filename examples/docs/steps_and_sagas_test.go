package docs_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
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

func tripID(t trip) (idempotent.Key, error) { return idempotent.Key{ID: t.ID, Payload: t}, nil }

type (
	booker  func(context.Context, trip) (booking, error)
	resumer func(context.Context, handlers.ResumeEvent) (handlers.ResumeReport, error)
)

func bookAndResume(store driver.Store, s service) (book booker, resume resumer, err error) {
	x, err := idempotent.New("book-trip", store, &idempotent.Config{MaxAttempts: 5, Resume: true})
	if err != nil {
		return nil, nil, err
	}

	book = idempotent.Wrap(x, tripID, s.book)                          // the function that clients call
	resume = handlers.Resume(handlers.Resumed(x, tripID, s.book), nil) // a second function, on a schedule
	return book, resume, nil
}

// Nobody repeats the call. The client comes back a day later, for its booking.
func TestStepsPageOfWorkThatItsCallerLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost, flights, hotels := errors.New("no answer"), 0, map[string]int{}
		book, resume, err := bookAndResume(memory.New(0), service{
			flights: func(_ context.Context, _ string, trip trip) (string, error) {
				flights++
				return "f-" + trip.ID, nil
			},
			hotels: func(_ context.Context, key string, _ trip) (string, error) {
				if hotels[key]++; hotels[key] == 1 {
					return "", lost
				}
				return "h-1", nil
			},
		})
		check.Must(t, err)
		_, err = book(t.Context(), trip{"t-1"})
		check.Is(t, err, lost)

		report, err := resume(t.Context(), handlers.ResumeEvent{})
		check.Nil(t, err, "its caller may still repeat it")
		check.Equal(t, report, handlers.ResumeReport{Operation: "book-trip", Complete: true})
		time.Sleep(16 * time.Minute)
		report, err = resume(t.Context(), handlers.ResumeEvent{})
		check.Nil(t, err)
		check.Equal(t, report, handlers.ResumeReport{Operation: "book-trip", Resumed: 1, Complete: true})

		time.Sleep(12 * time.Hour)
		got, err := book(t.Context(), trip{"t-1"})
		check.Nil(t, err)
		check.Equal(t, got, booking{"f-t-1", "h-1"})
		check.Equal(t, flights, 1, "flights")
		check.Equal(t, len(hotels), 1, "keys that the hotel got")
	})
}
