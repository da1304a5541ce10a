package docs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/local/crashtest"
)

// An airline books and cancels seats. It recognizes a repeated request by its key, as the
// real one does: a request that arrives late changes nothing.
type airline struct {
	seats map[string]string // "booked" or "cancelled", by the key of the booking
}

func (a airline) book(ctx context.Context) (seat string, err error) {
	key := idempotent.DownstreamKey(ctx, "seat")
	crashtest.Effect(ctx, "book seat")
	if a.seats[key] == "" {
		a.seats[key] = "booked"
	}
	return key, nil
}

func (a airline) cancel(ctx context.Context, seat string) error {
	crashtest.Effect(ctx, "cancel seat")
	a.seats[seat] = "cancelled"
	return nil
}

var errHotelFull = errors.New("the hotel is full")

// travel books a seat, and then finds the hotel full for good.
func (a airline) travel(ctx context.Context, trip string) (string, error) {
	if _, err := idempotent.SagaStep(ctx, "seat", a.book, a.cancel); err != nil {
		return "", err
	}
	return idempotent.Step(ctx, "hotel", func(ctx context.Context) (string, error) {
		crashtest.Effect(ctx, "book hotel")
		return "", idempotent.Permanent(errHotelFull)
	})
}

func TestSeatIsCancelledWhateverCrashes(t *testing.T) {
	crashtest.RunHandler(t, func() crashtest.Trial {
		a := airline{seats: map[string]string{}}
		return crashtest.Trial{
			Crashes: 2,
			Deliver: func(ctx context.Context, store driver.Store) error {
				x, err := idempotent.New("travel", store, &idempotent.Config{Observer: idempotent.NoObserver{}})
				if err != nil {
					return err
				}
				_, err = idempotent.Wrap(x, idempotent.Field(func(trip string) string { return trip }), a.travel)(ctx, "trip-1")
				return err
			},
			Check: func() error {
				if len(a.seats) != 1 {
					return fmt.Errorf("%d seats", len(a.seats))
				}
				for _, state := range a.seats {
					if state != "cancelled" {
						return fmt.Errorf("the seat is %s", state)
					}
				}
				return nil
			},
		}
	})
}
