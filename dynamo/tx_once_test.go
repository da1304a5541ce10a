package dynamo

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/internal/check"
)

// heldUp holds the first transaction up, and refuses the second.
type heldUp struct{ sent int }

func (h *heldUp) Do(*http.Request) (*http.Response, error) {
	if h.sent++; h.sent == 1 {
		return nil, io.ErrUnexpectedEOF
	}
	refused := `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed"}]}`
	return &http.Response{StatusCode: http.StatusBadRequest, Body: io.NopCloser(strings.NewReader(refused)),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}}, nil
}

// A refusal of the second says nothing of the first, which may still arrive:
// so the SDK must not send it by itself.
func TestRefusalLeavesADelayedCopyOpen(t *testing.T) {
	wire := &heldUp{}
	client := dynamodb.New(dynamodb.Options{HTTPClient: wire, Region: "eu-central-1", BaseEndpoint: aws.String("http://localhost"),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
		})})
	s, err := New(client, "records", nil)
	check.Must(t, err)
	x, err := idempotent.New("op", s, &idempotent.Config{Optimistic: true})
	check.Must(t, err)
	ctx, event := adapter.WithEvent(t.Context())
	_, err = idempotent.Do(ctx, x, idempotent.Key{ID: "k"}, func(ctx context.Context) (string, error) {
		Collect(ctx).Put("accounts", account{ID: "a"}, If(expression.Name("id").AttributeNotExists()))
		return "done", nil
	})
	check.Is(t, err, idempotent.ErrOutcomeUnknown)
	check.Equal(t, event.RoundTrips, 2)
	check.Equal(t, wire.sent, 2)
}
