package dynamo_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
)

// TestCallCost measures what docs/cost-and-scale.md says of a first call: its
// round trips and write units, and the bytes of its record. What a write costs
// that fails, or is in a transaction, DynamoDB Local does not tell.
func TestCallCost(t *testing.T) {
	const operation = "create-payment"
	for result, want := range map[int]float64{0: 2, 100: 2, 500: 2, 1000: 3, 4000: 6, 10_000: 11} {
		t.Run(fmt.Sprintf("%d bytes", result), func(t *testing.T) {
			client, table := dynamodblocal.NewTable(t)
			m := &metered{Client: client}
			// Compressed, even noise has fewer bytes: its letters have six bits each.
			compressing, err := dynamo.New(m, table, nil)
			check.Must(t, err)
			store, err := compressing.Shared(false)
			check.Must(t, err)
			x, err := idempotent.New(operation, store, nil)
			check.Must(t, err)
			key := idempotent.Key{Scope: "ada", ID: "p-1", Payload: result}
			if _, err := idempotent.Do(t.Context(), x, key, func(context.Context) (string, error) { return noisy(result), nil }); err != nil {
				t.Fatal(err)
			}
			calls, units := m.spent()
			check.Equal(t, calls, 2)
			check.Equal(t, units, want)
			all, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
			if err != nil || len(all.Items) != 1 {
				t.Fatal(len(all.Items), err)
			}
			const quotes = 2
			check.Equal(t, recordBytes(all.Items[0])-len(operation)-result-quotes, 215)
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
