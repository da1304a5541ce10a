// Package crash tests a handler of its own as a user of the test kit does.
package crash

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/local/crashtest"
	"github.com/lambda-once/once/local/dynamodblocal"
)

func TestMain(m *testing.M) { os.Exit(dynamodblocal.Main(m)) }

type parcel struct{ ID string }

func key(p parcel) (idempotent.Key, error) { return idempotent.Key{ID: p.ID, Payload: p}, nil }

func TestParcelIsShippedOnceWhateverCrashes(t *testing.T) {
	crashtest.RunHandler(t, func() crashtest.Trial {
		labels := map[string]bool{}
		ship := func(ctx context.Context, p parcel) (string, error) {
			crashtest.Effect(ctx, "print label")
			labels[idempotent.DownstreamKey(ctx, "label")] = true
			return "shipped", nil
		}
		return crashtest.Trial{
			Deliver: func(ctx context.Context, store driver.Store) error {
				x, err := idempotent.New("ship", store, &idempotent.Config{Observer: idempotent.NoObserver{}})
				if err != nil {
					return err
				}
				_, err = idempotent.Wrap(x, key, ship)(ctx, parcel{ID: "p-1"})
				return err
			},
			Check: func() error {
				if len(labels) != 1 {
					return fmt.Errorf("%d labels", len(labels))
				}
				return nil
			},
		}
	})
}

func TestSecondCallIsReplayedFromATable(t *testing.T) {
	client, table := dynamodblocal.NewTable(t)
	store, err := dynamo.New(client, table, nil)
	if err != nil {
		t.Fatal(err)
	}
	x, err := idempotent.New("ship", store, nil)
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	ship := idempotent.Wrap(x, key, func(context.Context, parcel) (int, error) { runs++; return runs, nil })
	for range 2 {
		if n, err := ship(t.Context(), parcel{ID: "p-1"}); err != nil || n != 1 {
			t.Errorf("%d, %v", n, err)
		}
	}
}
