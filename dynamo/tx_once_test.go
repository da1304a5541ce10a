package dynamo

import (
	"context"
	"io"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// A refusal of the second says nothing of the first, which may still arrive:
// so the SDK must not send it by itself.
func TestRefusalLeavesADelayedCopyOpen(t *testing.T) {
	sent := 0
	s := loneStore(t, wireClient(func(r *wire.Request) (*wire.Response, error) {
		if sent++; sent == 1 {
			return nil, io.ErrUnexpectedEOF
		}
		return cancelling(reason("None"), reason(CodeConditionFailed))(r)
	}, func(o *dynamodb.Options) { o.Retryer = atOnce() }), "records", nil)
	x, err := idempotent.New("op", s, &idempotent.Config{Optimistic: true})
	check.Must(t, err)
	ctx, event := adapter.WithEvent(t.Context())
	_, err = idempotent.Do(ctx, x, idempotent.Key{ID: "k"}, func(ctx context.Context) (string, error) {
		Collect(ctx).Put("accounts", account{ID: "a"}, If(expression.Name("id").AttributeNotExists()))
		return "done", nil
	})
	check.Is(t, err, idempotent.ErrOutcomeUnknown)
	check.Equal(t, event.RoundTrips, 2)
	check.Equal(t, sent, 2)
}
