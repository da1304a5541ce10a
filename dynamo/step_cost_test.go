package dynamo_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
)

// metered is a client that asks what each write has cost.
type metered struct {
	*dynamodb.Client
	mu    sync.Mutex
	calls int
	units float64
}

func (m *metered) add(c *types.ConsumedCapacity) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	if c != nil {
		m.units += aws.ToFloat64(c.CapacityUnits)
	}
}

func (m *metered) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := m.Client.PutItem(ctx, in, o...)
	if err == nil {
		m.add(out.ConsumedCapacity)
	}
	return out, err
}

func (m *metered) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := m.Client.UpdateItem(ctx, in, o...)
	if err == nil {
		m.add(out.ConsumedCapacity)
	}
	return out, err
}

// spent returns the calls and units since its last call.
func (m *metered) spent() (calls int, units float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls, units = m.calls, m.units
	m.calls, m.units = 0, 0
	return calls, units
}

// apart is what a step would cost as an item of its own. It could only be
// fenced by a transaction with a check of the record, and a transaction doubles
// the units of both.
func apart(resultBytes int) float64 {
	const others = 200 // the item's key and the names of its attributes
	return 2*float64((resultBytes+others+1023)/1024) + 2
}

// TestStepCost measures what docs/steps-and-sagas.md says of their cost: one write each,
// whose units grow with the record, and the number of steps from which items of
// their own would have cost less. Results are noise, which does not compress.
func TestStepCost(t *testing.T) {
	client, table := dynamodblocal.NewTable(t)
	m := &metered{Client: client}
	store, err := dynamo.New(m, table, nil)
	check.Must(t, err)
	x, err := idempotent.New("op", store, nil)
	check.Must(t, err)
	for _, c := range []struct {
		bytes        int
		tenth, even  int // units of the tenth step; steps from which items of their own cost less
		longest, all int
	}{
		{bytes: 20, tenth: 1, even: 0, longest: 50, all: 74},
		{bytes: 100, tenth: 2, even: 0, longest: 20, all: 37},
		{bytes: 1000, tenth: 11, even: 10, longest: 20, all: 224},
		{bytes: 4000, tenth: 40, even: 5, longest: 20, all: 836},
	} {
		t.Run(fmt.Sprintf("%d bytes", c.bytes), func(t *testing.T) {
			var total float64
			even := 0
			_, err := idempotent.Do(t.Context(), x, idempotent.Key{ID: fmt.Sprint(c.bytes)}, func(ctx context.Context) (string, error) {
				m.spent()
				for i := 1; i <= c.longest; i++ {
					name := fmt.Sprintf("step-%02d", i)
					if _, err := idempotent.Step(ctx, name, func(context.Context) (string, error) { return noisy(c.bytes), nil }); err != nil {
						return "", err
					}
					calls, units := m.spent()
					check.Equal(t, calls, 1)
					total += units
					if i == 10 && units != float64(c.tenth) {
						t.Errorf("the tenth step takes %v units, not %d", units, c.tenth)
					}
					if even == 0 && total > float64(i)*apart(c.bytes) {
						even = i
					}
				}
				return "", nil
			})
			check.Must(t, err)
			check.Equal(t, even, c.even)
			check.Equal(t, total, float64(c.all))
		})
	}
}

// noisy is text of about n bytes as JSON.
func noisy(n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for range n {
		b.WriteByte(letters[r.IntN(len(letters))])
	}
	return b.String()
}
