package dynamo

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
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
	s, wire := intercepted(t)
	s.createTogether(t, 9, owner)
	wire.sent()
	for i, m := range s.getTogether(t, 10) {
		want := id(i)
		if i == 9 {
			want = "" // there is none
		}
		check.Equal(t, m.record.ID, want, i)
		check.Nil(t, m.err, i)
	}
	check.Equal(t, wire.sent(), "BatchGetItem")
}

// A key that DynamoDB leaves unprocessed says nothing about its record.
func TestKeysThatAreLeftUnprocessedAreReadAlone(t *testing.T) {
	s, wire := intercepted(t)
	s.createTogether(t, 3, owner)
	wire.sent()
	wire.on(opRead, func(body []byte, pass func([]byte) []byte) ([]byte, error) {
		var in struct {
			RequestItems map[string]struct{ Keys []map[string]any }
		}
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, err
		}
		unprocessed := map[string]any{s.table: map[string]any{"Keys": in.RequestItems[s.table].Keys}}
		return json.Marshal(map[string]any{"Responses": map[string]any{}, "UnprocessedKeys": unprocessed})
	})
	for i, m := range s.getTogether(t, 3) {
		check.Equal(t, m.record.ID, id(i))
		check.Equal(t, m.record.Status, driver.InProgress)
		check.Nil(t, m.err)
	}
	check.Equal(t, wire.sent(), "BatchGetItem GetItem GetItem GetItem")
}

func TestSharedReadThatFailsIsReadAlone(t *testing.T) {
	s, wire := intercepted(t)
	s.createTogether(t, 2, owner)
	wire.sent()
	wire.on(opRead, func([]byte, func([]byte) []byte) ([]byte, error) { return nil, errCut })
	for i, m := range s.getTogether(t, 2) {
		check.Equal(t, m.record.ID, id(i))
		check.Nil(t, m.err)
	}
	check.Equal(t, wire.sent(), "BatchGetItem GetItem GetItem")
}
