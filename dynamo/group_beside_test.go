package dynamo

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/storetest"
)

// pair is two stores of one table. Each call goes to one of them by chance.
type pair struct {
	*Store
	other *Store
}

func (p pair) any() *Store { return []*Store{p.Store, p.other}[rand.IntN(2)] }

func (p pair) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	return p.any().Create(ctx, r, cutoff, with)
}

func (p pair) Get(ctx context.Context, id string) (driver.Record, error) { return p.any().Get(ctx, id) }

func (p pair) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	return p.any().Change(ctx, f, c)
}

// A deployment that turns group commit on runs beside the one before.
func TestGroupCommitBesideAStoreWithoutItConforms(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		client, table := newTable(t)
		alone, grouped := loneStore(t, client, table, nil), loneStore(t, client, table, nil)
		grouped.shareAll(4)
		return storetest.Harness{Store: pair{alone, grouped}, Plant: alone.plant, Attach: alone.attach, Schedules: 20}
	})
}
