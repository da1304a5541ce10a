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

// TestReadFirstCost measures what docs/cost-and-scale.md says of calls that read
// before they claim: a duplicate takes read units and no write. Without
// ReadFirst it is one write that fails. DynamoDB bills that as a write of the
// record, and its answer does not tell: the completion has measured such a write.
func TestReadFirstCost(t *testing.T) {
	for result, want := range map[int]struct{ first, firstRead, duplicate consumed }{
		100: {
			first:     consumed{writes: 2, writeUnits: 2},
			firstRead: consumed{writes: 2, writeUnits: 2, reads: 1, readUnits: 1},
			duplicate: consumed{reads: 1, readUnits: 1},
		},
		3_500: {
			first:     consumed{writes: 2, writeUnits: 5},
			firstRead: consumed{writes: 2, writeUnits: 5, reads: 1, readUnits: 1},
			duplicate: consumed{reads: 1, readUnits: 1},
		},
		10_000: {
			first:     consumed{writes: 2, writeUnits: 11},
			firstRead: consumed{writes: 2, writeUnits: 11, reads: 1, readUnits: 1},
			duplicate: consumed{reads: 1, readUnits: 3},
		},
		100 << 10: {
			first:     consumed{writes: 2, writeUnits: 102},
			firstRead: consumed{writes: 2, writeUnits: 102, reads: 1, readUnits: 1},
			duplicate: consumed{reads: 1, readUnits: 26},
		},
	} {
		t.Run(fmt.Sprintf("%d bytes", result), func(t *testing.T) {
			client, table := dynamodblocal.NewTable(t)
			r := &reading{metered: metered{Client: client}}
			// Uncompressed, so that the size is that of the result.
			compressing, err := dynamo.New(r, table, nil)
			check.Must(t, err)
			store, err := compressing.Shared(false)
			check.Must(t, err)
			call := func(id string, config *idempotent.Config) consumed {
				t.Helper()
				x, err := idempotent.New("create-payment", store, config)
				check.Must(t, err)
				value, err := idempotent.Do(t.Context(), x, idempotent.Key{Scope: "ada", ID: id}, func(context.Context) (string, error) { return noisy(result), nil })
				if err != nil || len(value) != result {
					t.Fatal(len(value), err)
				}
				return r.consumed()
			}
			readFirst := &idempotent.Config{ReadFirst: true}
			for _, c := range []struct {
				name      string
				got, want consumed
			}{
				{"first call", call("a", nil), want.first},
				{"duplicate", call("a", nil), consumed{failed: 1}},
				{"first call that reads first", call("b", readFirst), want.firstRead},
				{"duplicate that reads first", call("b", readFirst), want.duplicate},
			} {
				check.Equal(t, c.got, c.want, c.name)
			}
		})
	}
}
