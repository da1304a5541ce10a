package dynamo

import (
	"context"
	"testing"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

func (s *Store) getTogether(t *testing.T, n int) []met {
	t.Helper()
	all := make([]met, n)
	together(t, n, func(ctx context.Context, i int) {
		all[i].record, all[i].err = s.Get(ctx, id(i))
	})
	return all
}

func TestReadsShareOneRequest(t *testing.T) {
	s, net := intercepted(t)
	s.createTogether(t, 9, owner)
	net.sent()
	for i, m := range s.getTogether(t, 10) {
		want := id(i)
		if i == 9 {
			want = "" // there is none
		}
		check.Equal(t, m.record.ID, want, i)
		check.Nil(t, m.err, i)
	}
	check.Equal(t, net.sent(), "BatchGetItem")
}

// A key that DynamoDB leaves unprocessed says nothing about its record.
func TestKeysThatAreLeftUnprocessedAreReadAlone(t *testing.T) {
	s, net := intercepted(t)
	s.createTogether(t, 3, owner)
	net.sent()
	net.on(opRead, unprocessed(0))
	for i, m := range s.getTogether(t, 3) {
		check.Equal(t, m.record.ID, id(i))
		check.Equal(t, m.record.Status, driver.InProgress)
		check.Nil(t, m.err)
	}
	check.Equal(t, net.sent(), "BatchGetItem GetItem GetItem GetItem")
}

func TestSharedReadThatFailsIsReadAlone(t *testing.T) {
	s, net := intercepted(t)
	s.createTogether(t, 2, owner)
	net.sent()
	net.on(opRead, failing(wire.ErrCut))
	for i, m := range s.getTogether(t, 2) {
		check.Equal(t, m.record.ID, id(i))
		check.Nil(t, m.err)
	}
	check.Equal(t, net.sent(), "BatchGetItem GetItem GetItem")
}
