// Command refunds is a Lambda function with one tool for models: it refunds a charge
// once, however often a model calls it, plans it anew, or loses the answer.
//
// Its metrics go to standard output, in CloudWatch's Embedded Metric Format, and
// its log to standard error; on Lambda both are its log stream.
//
// Environment:
//
//	IDEMPOTENCY_TABLE  table of the idempotency records
//	OUTBOX_TABLE       table of the outbox
//	REFUNDS_TABLE      table with one item for each refund
//	PROVIDER_URL       the payment provider
//	REFUNDS_DOOR       "mcp" (default), behind a function URL or an HTTP API; "gateway",
//	                   a target of AgentCore Gateway; "actiongroup", of a Bedrock agent
//	AWS_LAMBDA_LOG_LEVEL, AWS_ENDPOINT_URL_DYNAMODB and the SDK's own
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lambda-once/once/dynamo/dynamoenv"
	"github.com/lambda-once/once/examples/internal/program"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/tools"
)

func main() { program.Start(setUp) }

func setUp(ctx context.Context) (any, error) {
	observer, err := program.Observer()
	if err != nil {
		return nil, err
	}
	d := &desk{table: os.Getenv("REFUNDS_TABLE"), provider: os.Getenv("PROVIDER_URL")}
	if d.table == "" || d.provider == "" {
		return nil, fmt.Errorf("REFUNDS_TABLE or PROVIDER_URL is not set")
	}
	store, err := dynamoenv.Open(ctx, nil)
	if err != nil {
		return nil, err
	}
	x, err := idempotent.New("refund", store, &idempotent.Config{
		// A person may come back to the conversation weeks later.
		Retention: 90 * 24 * time.Hour,
		// The provider forgets its keys after a day. Then a person decides.
		ProviderMemory: 24 * time.Hour,
		Observer:       observer,
	})
	if err != nil {
		return nil, err
	}
	return doorOf(os.Getenv("REFUNDS_DOOR"), tool(x, d))
}

func tool(x *idempotent.Executor, d *desk) *tools.Tool {
	return tools.NewByArguments(x, &mcp.Tool{
		Name:        "refund",
		Description: "Refunds a charge, as a whole or in part. One refund a charge.",
	}, byCharge, d.refund)
}

// byCharge makes two refunds of one charge the same call. A different amount is refused; a
// different wording of the reason is not.
func byCharge(r request) (idempotent.Key, error) {
	return idempotent.Key{ID: r.Charge, Payload: r.Amount}, nil
}

func doorOf(name string, refund *tools.Tool) (any, error) {
	who := tools.ScopeFunc(caller)
	switch name {
	case "", "mcp":
		return tools.MCP(who, nil, refund), nil
	case "gateway":
		return tools.Gateway(who, refund), nil
	case "actiongroup":
		return tools.ActionGroup(who, refund), nil
	}
	return nil, fmt.Errorf("REFUNDS_DOOR is %q, want mcp, gateway or actiongroup", name)
}

// caller identifies whom the refunds belong to: the role whose signature a function URL
// has verified, without the name of its session, which a repetition does not have; the
// gateway; the customer that the application in front of the agent has named.
func caller(c tools.Caller) (string, error) {
	if role, _, ok := strings.Cut(c.UserARN, ":assumed-role/"); ok {
		name, _, _ := strings.Cut(c.UserARN[len(role)+len(":assumed-role/"):], "/")
		return role + ":assumed-role/" + name, nil
	}
	switch {
	case c.UserARN != "":
		return c.UserARN, nil
	case c.GatewayID != "":
		return "gateway " + c.GatewayID, nil
	case c.SessionAttributes["customer"] != "":
		return "customer " + c.SessionAttributes["customer"], nil
	}
	return "", nil
}
