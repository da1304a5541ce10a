package tools_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/tools"
)

var update = flag.Bool("update", false, "rewrite the answers of testdata")

func golden(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	check.Must(t, err)
	return text
}

// throughGateway returns the context of an event of AgentCore Gateway.
func throughGateway(t *testing.T, edit ...string) context.Context {
	t.Helper()
	var lc lambdacontext.LambdaContext
	check.Must(t, json.Unmarshal([]byte(strings.NewReplacer(edit...).Replace(string(golden(t, "gateway-context.json")))), &lc.ClientContext))
	return lambdacontext.NewContext(t.Context(), &lc)
}

func TestGoldenEventsOfGatewayAndActionGroup(t *testing.T) {
	for name, send := range map[string]func(*desk) (json.RawMessage, error){
		"gateway": func(d *desk) (json.RawMessage, error) {
			return tools.Gateway(tools.NoIdentity(), d.tool)(throughGateway(t), golden(t, "gateway.json"))
		},
		"action group": func(d *desk) (json.RawMessage, error) {
			return tools.ActionGroup(tools.NoIdentity(), d.tool)(t.Context(), golden(t, "actiongroup.json"))
		},
	} {
		d := newDesk(t, byOrder)
		for range 2 {
			got, err := send(d)
			check.Must(t, err, name)
			check.Golden(t, "testdata/answers.txt", name, string(got)+"\n", *update)
		}
		d.ran(1, name)
		d.work = func(context.Context, refund) (receipt, error) { return receipt{}, context.Canceled }
		d.tool = newDesk(t, nil).tool // which needs a key of the client
		got, err := tools.Gateway(tools.NoIdentity(), d.tool)(throughGateway(t, "Idempotency-Key", "Other"), golden(t, "gateway.json"))
		if name == "action group" {
			got, err = tools.ActionGroup(tools.NoIdentity(), d.tool)(t.Context(), golden(t, "actiongroup.json"))
		}
		check.Must(t, err, name)
		check.Golden(t, "testdata/answers.txt", name+", refused", string(got)+"\n", *update)
	}
}

// A request of the gateway has a new message id each time.
func TestTheKeyAtAGatewayIsThePropagatedHeaderOrTheArguments(t *testing.T) {
	d := newDesk(t, byOrder)
	door := tools.Gateway(tools.NoIdentity(), d.tool)
	for _, edit := range [][]string{{}, {`"3"`, `"4"`, "7d0a", "8d0a"}} {
		_, err := door(throughGateway(t, edit...), golden(t, "gateway.json"))
		check.Must(t, err)
	}
	d.ran(1)
	_, err := door(throughGateway(t, "k-1", "k-2"), golden(t, "gateway.json"))
	check.Must(t, err)
	d.ran(2)
	for range 2 {
		_, err := door(throughGateway(t, "Idempotency-Key", "Other"), golden(t, "gateway.json"))
		check.Must(t, err)
	}
	d.ran(3)
	got, err := door(throughGateway(t, `"k-1"`, `["k-1", "k-2"]`), golden(t, "gateway.json"))
	check.Must(t, err)
	check.Contains(t, string(got), "is given more than once")
}

func TestDoorsTellTheScopeWhoCalls(t *testing.T) {
	var seen tools.Caller
	scope := tools.ScopeFunc(func(c tools.Caller) (string, error) {
		seen = c
		return c.Header.Get("X-Customer") + c.SessionAttributes["customer"], nil
	})
	d := newDesk(t, byOrder)
	_, err := tools.Gateway(scope, d.tool)(throughGateway(t), golden(t, "gateway.json"))
	check.Must(t, err)
	check.Equal(t, seen.GatewayID+" "+seen.TargetID, "shop-gateway-abc123defg ABCDE12345")
	_, err = tools.ActionGroup(scope, d.tool)(t.Context(), golden(t, "actiongroup.json"))
	check.Must(t, err)
	check.Equal(t, seen.AgentID+" "+seen.AgentAlias+" "+seen.SessionID+" "+seen.PromptAttributes["today"], "AGENT12345 TSTALIASID session-1 Monday")
}

// The doors share the records of a caller.
func TestARepetitionThroughAnotherDoorReceivesTheFirstResult(t *testing.T) {
	d := newDesk(t, byOrder)
	const order = `{"order":"4711","amount":9007199254740993}`
	first := call(t, tools.MCP(tools.NoIdentity(), nil, d.tool), `1`, order, "")
	got, err := tools.ActionGroup(tools.NoIdentity(), d.tool)(t.Context(), golden(t, "actiongroup.json"))
	check.Must(t, err)
	text, err := json.Marshal(first.text())
	check.Must(t, err)
	check.Contains(t, string(got), string(text))
	got, err = tools.Gateway(tools.NoIdentity(), d.tool)(throughGateway(t, "Idempotency-Key", "Other"), json.RawMessage(order))
	check.Must(t, err)
	check.Equal(t, string(got), first.text())
	d.ran(1)
}

func TestParametersThatDoNotFitAreRefused(t *testing.T) {
	d := newDesk(t, byOrder)
	door := tools.ActionGroup(tools.NoIdentity(), d.tool)
	for _, edit := range [][2]string{{`"9007199254740993"`, `"much"`}, {`"[\"1\", \"2\"]"`, `"[1, two]"`}, {`"amount"`, `"sum"`}} {
		got, err := door(t.Context(), json.RawMessage(strings.Replace(string(golden(t, "actiongroup.json")), edit[0], edit[1], 1)))
		check.Must(t, err)
		check.Contains(t, string(got), "do not fit the tool's schema")
		check.Contains(t, string(got), `"responseState":"REPROMPT"`)
	}
	d.ran(0)
	check.Equal(t, d.records(), 0, "records")
}

func TestAResultBeyondTheLimitOfBedrockIsNotMadeAgain(t *testing.T) {
	d := newDesk(t, byOrder)
	d.work = func(context.Context, refund) (receipt, error) { return receipt{ID: strings.Repeat(`"`, 6500)}, nil }
	for range 2 {
		got, err := tools.ActionGroup(tools.NoIdentity(), d.tool)(t.Context(), golden(t, "actiongroup.json"))
		check.Must(t, err)
		check.Contains(t, string(got), "too large to be returned. Do not call it again")
	}
	d.ran(1)
}

// Another tool is a mistake of the configuration, which a model cannot mend.
func TestAnUnknownToolIsAnErrorOfTheFunction(t *testing.T) {
	d := newDesk(t, byOrder)
	gateway, group := tools.Gateway(tools.NoIdentity(), d.tool), tools.ActionGroup(tools.NoIdentity(), d.tool)
	for _, ctx := range []context.Context{t.Context(), throughGateway(t, "payments___refund", "refund"), throughGateway(t, "___refund", "___other")} {
		_, err := gateway(ctx, golden(t, "gateway.json"))
		check.As[*driver.ConfigError](t, err)
	}
	for _, event := range []string{`{}`, `[]`, `{"function":"other"}`} {
		_, err := group(t.Context(), json.RawMessage(event))
		check.Equal(t, idempotent.SafeText(check.As[*driver.ConfigError](t, err)), "tools: ActionGroup: the event names a tool that this function does not serve; compare the tools that are configured there")
	}
	d.ran(0)
}
