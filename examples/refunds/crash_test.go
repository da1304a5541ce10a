package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/local/crashtest"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// The function is killed and frozen before and after each of its network calls.
func TestARefundSurvivesEveryCrash(t *testing.T) {
	t.Parallel()
	f := newFunction(t, "mcp")
	crashtest.Run(t, crashtest.Function{
		Binary: deployed.Binary,
		Env:    f.env,
		Final:  isFinal,
		Servers: []crashtest.Server{
			{Variable: "AWS_ENDPOINT_URL_DYNAMODB"},
			{Variable: "PROVIDER_URL", URL: f.env[len(f.env)-1][len("PROVIDER_URL="):], Name: "provider"},
		},
	}, func(_ context.Context, run string) ([]byte, error) {
		body := `{"jsonrpc":"2.0","id":"` + run + `","method":"tools/call","params":{"name":"refund","arguments":{"charge":"` + run + `","amount":100}}}`
		return json.Marshal(eventOf(http.MethodPost, body, http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		}))
	}, func(_ context.Context, run string) error {
		items, err := f.with(run)
		if err != nil {
			return err
		}
		if made := f.provider.refunds(run); made != 1 || items != "1 1" {
			return fmt.Errorf("%d refunds, and %s items and messages", made, items)
		}
		return nil
	})
}

// with counts the items and the messages of a charge.
func (f *function) with(charge string) (counts string, err error) {
	var items, messages int
	for _, item := range deployed.Items(f.t, f.client, f.refunds) {
		var r refunded
		if err := attributevalue.UnmarshalMap(item, &r); err != nil {
			return "", err
		}
		if r.Charge == charge {
			items++
		}
	}
	for _, item := range deployed.Items(f.t, f.client, f.outbox) {
		var m struct {
			Aggregate string     `dynamodbav:"aggregate"`
			Messages  []struct{} `dynamodbav:"messages"`
		}
		if err := attributevalue.UnmarshalMap(item, &m); err != nil {
			return "", err
		}
		if m.Aggregate == charge {
			messages += len(m.Messages)
		}
	}
	return fmt.Sprint(items, messages), nil
}

// A client repeats a call that says when to ask again.
func isFinal(r lambdaruntime.Response) bool {
	if r.FunctionError != nil {
		return false
	}
	var e events.APIGatewayV2HTTPResponse
	return json.Unmarshal(r.Payload, &e) == nil && !strings.Contains(e.Body, "once/retryAfterSeconds")
}

func TestTheFunctionDoesNotStartWithoutItsSettings(t *testing.T) {
	t.Parallel()
	start := func(env ...string) *lambdaruntime.Runtime { return deployed.Start(t, lambdaruntime.Function{}, env...) }
	deployed.FailsToStart(t, start(), "REFUNDS_TABLE or PROVIDER_URL is not set")
	deployed.FailsToStart(t, start("REFUNDS_TABLE=r", "PROVIDER_URL=u", "IDEMPOTENCY_TABLE=t", "REFUNDS_DOOR=window"), "REFUNDS_DOOR is")
}
