package outbox_test

import (
	"testing"
	"time"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/dynamo/outbox"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/outboxitem"
)

// The item stays pending, with its messages as they were, until the relay marks it.
func TestPublishAgainLeavesWhatIsMarkedOrGone(t *testing.T) {
	client, _, table, o := newOutbox(t)
	item := outboxitem.Item{Aggregate: "a", ID: "id", Created: time.UnixMilli(1).UTC(), Messages: []driver.OutboxMessage{{Aggregate: "a", ID: "id-0", Destination: "d", Body: []byte("b")}}}
	put(t, client, table, attribute.ItemOf(item.Encode()))
	before := pending(t, o, time.Now())
	check.Must(t, o.PublishAgain(t.Context(), "a", "id", item.Created))
	check.Deep(t, pending(t, o, time.Now()), before)
	for name, err := range map[string]error{
		"absent":    o.PublishAgain(t.Context(), "a", "other", item.Created),
		"rewritten": o.PublishAgain(t.Context(), "a", "id", item.Created.Add(time.Millisecond)),
	} {
		check.Is(t, err, outbox.ErrNotFound, name)
	}
	check.Must(t, o.Mark(t.Context(), "a", "id", item.Created))
	err := o.PublishAgain(t.Context(), "a", "id", item.Created)
	check.Is(t, err, outbox.ErrNotFound)
	check.As[*dynamo.Error](t, err)
	check.Equal(t, len(pending(t, o, time.Now())), 0)
}
