package dynamo_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
)

// reading is a client that asks what each read and each write has cost, and
// counts the writes that fail: their errors do not tell what they cost.
type reading struct {
	metered
	reads, failed int
	readUnits     float64
}

func (r *reading) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := r.Client.GetItem(ctx, in, o...)
	if err == nil {
		r.reads++
		r.readUnits += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	}
	return out, err
}

func (r *reading) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	out, err := r.metered.PutItem(ctx, in, o...)
	if err != nil {
		r.failed++
	}
	return out, err
}

// consumed is what a call took from the table.
type consumed struct {
	writes     int
	writeUnits float64
	failed     int // conditional writes
	reads      int
	readUnits  float64
}

func (r *reading) consumed() consumed {
	writes, units := r.spent()
	c := consumed{writes, units, r.failed, r.reads, r.readUnits}
	r.failed, r.reads, r.readUnits = 0, 0, 0
	return c
}

// TestCallCost measures what docs/cost-and-scale.md says of calls: their round trips
// and units, and the bytes of a record. With ReadFirst, a duplicate takes read units
// and no write. Without it, a duplicate is one write that fails. DynamoDB bills that as
// a write of the record, and its answer does not tell.
func TestCallCost(t *testing.T) {
	const operation, quotes = "create-payment", 2
	for result, units := range map[int]struct{ written, read float64 }{
		0: {2, 1}, 100: {2, 1}, 500: {2, 1}, 1000: {3, 1}, 3500: {5, 1}, 4000: {6, 2}, 10_000: {12, 3}, 100 << 10: {102, 26},
	} {
		t.Run(fmt.Sprintf("%d bytes", result), func(t *testing.T) {
			client, table := dynamodblocal.NewTable(t)
			r := &reading{metered: metered{Client: client}}
			// Compressed, even noise has fewer bytes: its letters have six bits each.
			compressing, err := dynamo.New(r, table, nil)
			check.Must(t, err)
			store, err := compressing.Shared(false)
			check.Must(t, err)
			call := func(id string, config *idempotent.Config) consumed {
				t.Helper()
				x, err := idempotent.New(operation, store, config)
				check.Must(t, err)
				key := idempotent.Key{Scope: "ada", ID: id, Payload: result}
				value, err := idempotent.Do(t.Context(), x, key, func(context.Context) (string, error) { return noisy(result), nil })
				check.Must(t, err)
				check.Equal(t, len(value), result)
				return r.consumed()
			}
			first := consumed{writes: 2, writeUnits: units.written}
			check.Equal(t, call("a", nil), first, "first call")
			check.Equal(t, call("a", nil), consumed{failed: 1}, "duplicate")
			readFirst := &idempotent.Config{ReadFirst: true}
			first.reads, first.readUnits = 1, 1
			check.Equal(t, call("b", readFirst), first, "first call that reads first")
			check.Equal(t, call("b", readFirst), consumed{reads: 1, readUnits: units.read}, "duplicate that reads first")
			all, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
			check.Must(t, err)
			check.Equal(t, len(all.Items), 2)
			for _, item := range all.Items {
				check.Equal(t, recordBytes(item)-len(operation)-result-quotes, 252, "bytes of a record besides")
			}
		})
	}
}

// recordBytes is the size of an item of strings and numbers, as DynamoDB
// counts it.
func recordBytes(item map[string]types.AttributeValue) (size int) {
	for name, v := range item {
		size += len(name)
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			size += len(v.Value)
		case *types.AttributeValueMemberN:
			size += len(v.Value)/2 + 1
		}
	}
	return size
}
