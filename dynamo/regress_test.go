package dynamo

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent"
)

// A claim that collides with a transaction reads the record, which TTL has not
// deleted yet although its retention is long over: it is replayed.
func TestTransactionConflictReplaysWhatIsOver(t *testing.T) {
	old := map[string]types.AttributeValue{
		"id": text("op#1"), "status": text("COMPLETED"), "owner": text("x"), "attempt": number(1),
		"expiration": seconds(time.Now().Add(-48 * time.Hour)), "data": text(`"of the day before yesterday"`),
	}
	s, client := fakeStore(t, nil, result{err: &types.TransactionConflictException{}}, result{item: old})
	x, err := idempotent.New("op", s, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := idempotent.Do(t.Context(), x, idempotent.Key{Record: "op#1"}, func(context.Context) (string, error) { return "today's", nil })
	if err != nil || got != "today's" {
		t.Errorf("got %q, %v; sent %d", got, err, len(client.sent))
	}
}

// lossy loses the answer of the first update.
type lossy struct {
	Client
	lost bool
}

func (c *lossy) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out, err := c.Client.UpdateItem(ctx, in, o...)
	if !c.lost {
		c.lost = true
		return nil, errors.New("connection reset")
	}
	return out, err
}

type declinedError struct{ code string }

func (e *declinedError) Error() string { return "declined: " + e.code }

// With Native the stored result comes back with other bytes (sorted names,
// other escapes), so that a completion whose answer was lost takes its own
// record for a stranger's.
func TestNativeMeetsItsOwnCopy(t *testing.T) {
	client, table := newTable(t)
	run := func(key string, fn func(context.Context) (any, error)) (any, *idempotent.Event, error) {
		s := newStore(t, &lossy{Client: client}, table, &Options{Data: Native})
		x, err := idempotent.New("op", s, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, event := idempotent.WithEvent(t.Context())
		got, err := idempotent.Do(ctx, x, idempotent.Key{ID: key}, fn)
		return got, event, err
	}
	type payment struct{ Z, A string }
	want := payment{Z: "<1>", A: "2"}
	got, event, err := run("done", func(context.Context) (any, error) { return want, nil })
	if err != nil || event.Outcome != idempotent.OutcomeExecuted || !reflect.DeepEqual(got, want) {
		t.Errorf("a success: %+v, %v, outcome %q", got, err, event.Outcome)
	}
	_, event, err = run("declined", func(context.Context) (any, error) {
		return nil, idempotent.Permanent(&declinedError{"51"})
	})
	var declined *declinedError
	if !errors.As(err, &declined) || event.Outcome != idempotent.OutcomeFailed {
		t.Errorf("the first call's own permanent error became %T %v, outcome %q", err, err, event.Outcome)
	}
}
