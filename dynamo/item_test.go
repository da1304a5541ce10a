package dynamo_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/dynamo/internal/recorditem"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
)

// The operator's command writes items by their format.
func TestStoreReadsItemsOfItsFormat(t *testing.T) {
	client, table := dynamodblocal.NewTable(t)
	for name, format := range map[string]dynamo.DataFormat{"text": dynamo.Text, "native": dynamo.Native} {
		t.Run(name, func(t *testing.T) {
			store, err := dynamo.New(client, table, &dynamo.Options{Data: format})
			check.Must(t, err)
			id := "pay#" + name
			r := driver.Record{ID: id, Status: driver.Completed, Expires: time.Now().Add(time.Hour)}
			if _, ok, err := store.Create(t.Context(), r, time.Time{}, nil); !ok || err != nil {
				t.Fatal(ok, err)
			}
			item, err := recorditem.New(recorditem.Options{Native: format == dynamo.Native})
			check.Must(t, err)
			out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: item.Key(id)})
			if err != nil || len(out.Item) == 0 {
				t.Fatalf("Key finds %v, %v", out, err)
			}
			out.Item[item.Attr.Data] = item.Result([]byte(`{"paid":12}`))
			_, err = client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: out.Item})
			check.Must(t, err)
			got, err := store.Get(t.Context(), id)
			check.Nil(t, err)
			check.Equal(t, string(got.Data), `{"paid":12}`)
		})
	}
}
