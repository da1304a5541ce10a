package dynamo

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// The functions of examples/shared run with Powertools itself on one table.

const shared = "app#cpBAgW9zMMTLMfVKVvWaew=="

// call runs the operation on the shared record.
func call[T any](t *testing.T, x *idempotent.Executor, fn func(context.Context) (T, error)) (T, error) {
	t.Helper()
	return idempotent.Do(t.Context(), x, idempotent.Key{Record: shared}, fn)
}

// theirs writes the shared record as Powertools for TypeScript does.
func theirs(t *testing.T, s *Store, status, lease string) {
	t.Helper()
	putItem(t, s, map[string]types.AttributeValue{
		"id": text(shared), "status": text(status), "data": text("powertools'"), "expiration": seconds(time.Now().Add(time.Hour)),
		"in_progress_expiration": &types.AttributeValueMemberN{Value: lease},
	})
}

func besidePowertools(t *testing.T, s *Store, native bool) *Store {
	t.Helper()
	shared, err := s.Shared(native)
	check.Must(t, err)
	return shared.(*Store)
}

// Powertools for TypeScript reads attribute values, the others JSON text; none
// of them decompresses.
func TestSharedStoreWritesWhatPowertoolsReads(t *testing.T) {
	large := strings.Repeat("a", 20_000)
	for native, want := range map[bool]string{false: `"` + large + `"`, true: large} {
		s := besidePowertools(t, inOwnTable(t, nil), native)
		if _, err := call(t, executor(t, s, adapter.Shared(nil)), func(context.Context) (string, error) { return large, nil }); err != nil {
			t.Fatal(err)
		}
		if got, ok := rawItem(t, s, shared)["data"].(*types.AttributeValueMemberS); !ok || got.Value != want {
			t.Errorf("native is %v: stored %.60v", native, rawItem(t, s, shared)["data"])
		}
	}
}

func TestSharedStoreKeepsTheOtherOptions(t *testing.T) {
	options := Options{
		Layout: Layout{ID: "pk", SortKey: "sk", Data: "result", Partition: "idempotency#other", Shards: 1}, Group: 2, Outbox: "messages",
	}
	s := newStore(t, newClient(t), inOwnTable(t, nil).table, &options)
	for native, data := range map[bool]DataFormat{false: Text, true: Native} {
		want := options
		want.Data = data
		if got := besidePowertools(t, s, native); got.options != want || got.group == nil || got.table != s.table {
			t.Errorf("native is %v: %+v", native, got.options)
		}
	}
	check.Equal(t, s.options, options, "the store itself has changed")
}

func TestSharedStoreRefusesWhatPowertoolsDoesNotHave(t *testing.T) {
	for want, c := range map[string]struct {
		options Options
		native  bool
	}{
		"Data is Native":            {Options{Data: Native}, false},
		"Layout.Shards is 2":        {Options{Layout: Layout{SortKey: "sk", Partition: "idempotency#other", Shards: 2}}, true},
		"Layout.Partition is empty": {Options{Layout: Layout{SortKey: "sk"}}, true},
	} {
		s := newStore(t, newClient(t), "records", &c.options)
		_, err := s.Shared(c.native)
		var refused *driver.ConfigError
		if !errors.As(err, &refused) || !strings.Contains(refused.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// An optimistic call has no claim that Powertools could see. Its transaction
// has a condition on the record all the same: of two that run, one counts.
func TestOptimisticCallCommitsNothingBesidePowertools(t *testing.T) {
	s := besidePowertools(t, inOwnTable(t, nil), true)
	x := executor(t, s, adapter.Shared(&idempotent.Config{Optimistic: true}))
	lease := strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10)
	work := func(ctx context.Context) (string, error) {
		Collect(ctx).Put(s.table, map[string]any{"id": "business"})
		theirs(t, s, "INPROGRESS", lease)
		return "once's", nil
	}
	if _, err := call(t, x, work); !errors.Is(err, idempotent.ErrInProgress) {
		t.Errorf("%v", err)
	}
	if item := rawItem(t, s, "business"); item != nil {
		t.Errorf("it was written: %v", item)
	}
	theirs(t, s, "COMPLETED", lease)
	if got, err := call(t, x, func(context.Context) (string, error) { return "in vain", nil }); got != "powertools'" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// The remaining time of a TypeScript function may be a fraction, and its lease is
// then one. Once reads it rounded up, and takes it over like any other.
func TestLeaseOfPowertoolsMayBeAFraction(t *testing.T) {
	s := newStore(t, newClient(t), inOwnTable(t, nil).table, &Options{Data: Native})
	x := executor(t, s, nil)
	lapsed := strconv.FormatInt(time.Now().Add(-time.Minute).UnixMilli(), 10)
	for _, fraction := range []string{".25", ".9999999", ".0"} {
		theirs(t, s, "INPROGRESS", lapsed+fraction)
		got, err := call(t, x, func(context.Context) (string, error) { return fraction, nil })
		check.Equal(t, got, fraction)
		check.Nil(t, err)
	}
	// It stays in a record that Powertools has completed.
	theirs(t, s, "COMPLETED", "1795000000000.5")
	got, err := call(t, x, func(context.Context) (string, error) { return "again", nil })
	check.Equal(t, got, "powertools'")
	check.Nil(t, err)
}
