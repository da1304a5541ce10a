package docs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/tools"
)

// The code of docs/tools.md.

type RefundRequest struct {
	Charge string `json:"charge" jsonschema:"the id of the charge"`
	Amount int64  `json:"amount" jsonschema:"in cents"`
	Reason string `json:"reason,omitempty" jsonschema:"in the words of the customer"`
}

type Refund struct {
	ID string `json:"id"`
}

func byCharge(r RefundRequest) (idempotent.Key, error) {
	return idempotent.Key{ID: r.Charge, Payload: r.Amount}, nil
}

func refundTool(x *idempotent.Executor) *tools.Tool {
	return tools.NewByArguments(x, &mcp.Tool{Name: "refund", Description: "Refunds a charge."}, byCharge, refund)
}

func refund(ctx context.Context, r RefundRequest) (Refund, error) {
	if r.Amount > 10_000 {
		return Refund{}, idempotent.Permanent(errors.New("a refund of more than 100 needs a person"))
	}
	return provider.Refund(ctx, idempotent.DownstreamKey(ctx, "refund"), r.Charge, r.Amount)
}

var provider refunds

type refunds struct{ made int }

func (p *refunds) Refund(_ context.Context, _, charge string, _ int64) (Refund, error) {
	p.made++
	return Refund{ID: "re-" + charge}, nil
}

func serveRefunds(x *idempotent.Executor) {
	customer := tools.ScopeFunc(func(c tools.Caller) (string, error) { return c.Claims["sub"], nil })
	lambda.Start(tools.MCP(customer, nil, refundTool(x)))
}

type Report struct {
	Ticket string `json:"ticket"`
	Status string `json:"status"`
}

type ReportRequest struct {
	Month string `json:"month"`
}

type Ticket struct {
	Ticket string `json:"ticket"`
}

func reportTools(x *idempotent.Executor, service durablefunc.ExecutionStarter, statusOf func(context.Context, tools.Caller, string) (Report, error)) (start, status *tools.Tool) {
	execute := durablefunc.StartExecution(service, func(r Report) ([]byte, error) { return json.Marshal(r) })
	start = tools.New(x, &mcp.Tool{Name: "start-report"}, byMonth, func(ctx context.Context, _ ReportRequest) (Report, error) {
		r := Report{Ticket: idempotent.DownstreamKey(ctx, "report"), Status: "started"}
		return r, execute(ctx, r)
	})
	status = tools.Read(&mcp.Tool{Name: "report-status"}, func(ctx context.Context, t Ticket) (Report, error) {
		return statusOf(ctx, tools.CallerOf(ctx), t.Ticket)
	})
	return start, status
}

func byMonth(r ReportRequest) (idempotent.Key, error) { return idempotent.Key{ID: r.Month}, nil }

// executions counts the executions by name.
type executions map[string]int

func (e executions) StartExecution(_ context.Context, name string, _ []byte) error {
	e[name]++
	return nil
}

func TestToolsOfThePageRunOnce(t *testing.T) {
	x, err := idempotent.New("refund", memory.New(0), nil)
	check.Must(t, err)
	started := executions{}
	start, status := reportTools(x, started, func(_ context.Context, _ tools.Caller, ticket string) (Report, error) {
		return Report{ticket, fmt.Sprint(len(started), " execution")}, nil
	})
	group := tools.ActionGroup(tools.NoIdentity(), refundTool(x), start, status)
	call := func(function, name, value string) (body string) {
		t.Helper()
		event := fmt.Sprintf(`{"function":%q,"parameters":[{"name":%q,"value":%q},{"name":"amount","value":"100"}]}`, function, name, value)
		if function != "refund" {
			event = fmt.Sprintf(`{"function":%q,"parameters":[{"name":%q,"value":%q}]}`, function, name, value)
		}
		answer, err := group(t.Context(), json.RawMessage(event))
		check.Must(t, err)
		var r struct {
			Response struct {
				FunctionResponse struct {
					ResponseBody map[string]struct{ Body string }
				}
			}
		}
		check.Must(t, json.Unmarshal(answer, &r))
		return r.Response.FunctionResponse.ResponseBody["TEXT"].Body
	}
	for range 2 {
		check.Equal(t, call("refund", "charge", "ch-1"), `{"id":"re-ch-1"}`)
		check.Contains(t, call("start-report", "month", "2026-11"), `"status":"started"`)
	}
	check.Equal(t, provider.made, 1, "refunds")
	check.Equal(t, len(started), 1, "executions")
	check.Contains(t, call("report-status", "ticket", "t-1"), "1 execution")
	_ = serveRefunds // starts a function
}
