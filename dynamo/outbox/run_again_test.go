package outbox_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// The relay has not published the message of the first run yet.
func TestKeyThatRunsAgainPublishesAnotherMessage(t *testing.T) {
	for name, c := range map[string]struct {
		disabled string
		config   idempotent.Config
	}{
		"claimed":          {},
		"optimistic":       {config: idempotent.Config{Optimistic: true}},
		"without a record": {disabled: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("ONCE_DISABLED", c.disabled)
			client, records, table, o := newOutbox(t)
			s, err := dynamo.New(client, records, &dynamo.Options{Outbox: table})
			check.Must(t, err)
			x, err := idempotent.New("order", s, &c.config)
			check.Must(t, err)
			for run := range 2 {
				_, err := idempotent.Do(t.Context(), x, idempotent.Key{Record: "order#1"}, func(ctx context.Context) (string, error) {
					dynamo.Collect(ctx).Publish(driver.OutboxMessage{Aggregate: "order-1", Destination: "mail", Body: []byte(strconv.Itoa(run))})
					return "placed", nil
				})
				check.Must(t, err)
				// As after its retention.
				_, err = client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &records,
					Key: map[string]types.AttributeValue{"id": attribute.Text("order#1")}})
				check.Must(t, err)
			}
			ids := map[string]string{} // by body
			for _, item := range pending(t, o, time.Now().Add(time.Hour)) {
				for _, m := range item.Messages {
					ids[string(m.Body)] = m.ID
				}
			}
			check.Differ(t, ids["0"], "", "the ids of the messages, by run")
			check.Differ(t, ids["1"], "")
			check.Differ(t, ids["0"], ids["1"])
			check.Equal(t, len(ids), 2)
		})
	}
}
