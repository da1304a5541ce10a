package dynamo

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/storetest"
	"github.com/lambda-once/once/internal/check"
)

// Version 0.1.0 runs beside this one on a table, and each meets the other's records. They
// send the same requests, so the conformance of this version is that of both together.
// A request that changes needs a test with both on one table, as package redis has.
func TestRequestsAreThoseOfVersion010(t *testing.T) {
	released, err := filepath.Glob("testdata/0.1.0/*.golden")
	check.Must(t, err)
	check.Equal(t, len(released), 38)
	for _, file := range released {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, err := os.ReadFile(file)
			check.Must(t, err)
			got, err := os.ReadFile(filepath.Join("testdata", filepath.Base(file)))
			check.Must(t, err)
			check.Equal(t, string(got), string(want))
		})
	}
}

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
