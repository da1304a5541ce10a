package dynamo

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/lambda-once/once/idempotent/driver"
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
		if m.record.ID != want || m.err != nil {
			t.Errorf("%d: %+v", i, m)
		}
	}
	if sent := wire.sent(); sent != "BatchGetItem" {
		t.Errorf("sent %s", sent)
	}
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
		if m.record.ID != id(i) || m.record.Status != driver.InProgress || m.err != nil {
			t.Errorf("%d: %+v", i, m)
		}
	}
	if sent := wire.sent(); sent != "BatchGetItem GetItem GetItem GetItem" {
		t.Errorf("sent %s", sent)
	}
}

func TestSharedReadThatFailsIsReadAlone(t *testing.T) {
	s, wire := intercepted(t)
	s.createTogether(t, 2, owner)
	wire.sent()
	wire.on(opRead, func([]byte, func([]byte) []byte) ([]byte, error) { return nil, errCut })
	for i, m := range s.getTogether(t, 2) {
		if m.record.ID != id(i) || m.err != nil {
			t.Errorf("%d: %+v", i, m)
		}
	}
	if sent := wire.sent(); sent != "BatchGetItem GetItem GetItem" {
		t.Errorf("sent %s", sent)
	}
}
