package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/tools"
)

// A client may make a key for each request, and so may the library that sends them.
func TestArgumentsAloneIdentifyACallWhateverKeyTheClientSends(t *testing.T) {
	x, err := idempotent.New("refunds", memory.New(0), &idempotent.Config{Observer: idempotent.NoObserver{}})
	check.Must(t, err)
	runs := 0
	tool := tools.NewByArguments(x, &mcp.Tool{Name: "refund"}, byOrder, func(_ context.Context, r refund) (receipt, error) {
		runs++
		return receipt{Order: r.Order}, nil
	})
	to := tools.MCP(tools.NoIdentity(), nil, tool)
	first := call(t, to, `1`, arguments, `"idempotencyKey":"k-1"`)
	again := call(t, to, `2`, arguments, `"idempotencyKey":"k-2"`, header("idempotency-key", "k-3"))
	check.Equal(t, again.text(), first.text())
	check.Equal(t, runs, 1, "runs")
	check.As[*driver.ConfigError](t, panicked(func() {
		tools.NewByArguments[refund, receipt](x, &mcp.Tool{Name: "refund"}, nil, nil)
	}))
}

func panicked(f func()) (err error) {
	defer func() { err, _ = recover().(error) }()
	f()
	return nil
}

// Under another key, the call would be another one.
func TestACallUnderTheClientsKeyIsRepeatedWithIt(t *testing.T) {
	d := newDesk(t, byOrder)
	d.work = func(context.Context, refund) (receipt, error) { return receipt{}, errors.New("busy") }
	to := tools.MCP(tools.NoIdentity(), nil, d.tool)
	refused(t, call(t, to, `1`, arguments, `"idempotencyKey":"k-1"`), "with the same arguments and the same idempotency key", true)
	check.Lacks(t, call(t, to, `2`, arguments, "").text(), "key")
}

// failing is a store that stores no end.
type failing struct{ *memory.Store }

func (failing) Change(context.Context, driver.Fence, driver.Change) (driver.Record, bool, error) {
	return driver.Record{}, false, errors.New("secret")
}

func TestAPermanentErrorThatIsNotStoredIsNotFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the store is asked for a minute
		x, err := idempotent.New("refunds", failing{memory.New(0)}, &idempotent.Config{Observer: idempotent.NoObserver{}})
		check.Must(t, err)
		tool := tools.New(x, &mcp.Tool{Name: "refund"}, byOrder, func(context.Context, refund) (receipt, error) {
			return receipt{}, idempotent.Permanent(errors.New("too old"))
		})
		r := call(t, tools.MCP(tools.NoIdentity(), nil, tool), `1`, arguments, "")
		refused(t, r, "Call it again with the same arguments", true)
		check.Lacks(t, r.text(), "secret")
	})
}

// Such a request is answered when the tools change: the invocation would last until its
// timeout.
func TestASubscriptionIsRefused(t *testing.T) {
	d := newDesk(t, byOrder)
	to := tools.MCP(tools.NoIdentity(), nil, d.tool)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {},
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: "https://function.example", HTTPClient: &http.Client{Transport: lambda{to}}, DisableStandaloneSSE: true,
	}, nil)
	check.Must(t, err)
	_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "refund", Arguments: map[string]any{"order": "o-1", "amount": 7}})
	check.Must(t, err)
	check.Must(t, session.Close())
	response := post(t, to, "2026-07-28", `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		header("mcp-method", "subscriptions/listen"))
	check.Contains(t, response.Body, `"code":-32601`)
}

// A gateway may have judged the first value, and the tool would read the second.
func TestAMemberThatIsGivenTwiceIsRefused(t *testing.T) {
	d := newDesk(t, byOrder)
	to := tools.MCP(tools.NoIdentity(), nil, d.tool)
	for _, meta := range []string{"", `"idempotencyKey":"k-1"`} {
		refused(t, call(t, to, `1`, `{"order":"a","order":"b","amount":1}`, meta), "This call has not run the tool", false)
	}
	d.ran(0)
}

func TestAKeyOfTheClientIsAsOldAsTheKeyFunctionSays(t *testing.T) {
	old := func(r refund) (idempotent.Key, error) {
		return idempotent.Key{ID: r.Order, Issued: time.Now().Add(-48 * time.Hour)}, nil
	}
	d := newDeskWith(t, old, &idempotent.Config{RefuseLate: true, Retention: time.Hour})
	to := tools.MCP(tools.NoIdentity(), nil, d.tool)
	refused(t, call(t, to, `1`, arguments, `"idempotencyKey":"k-1"`), "too old to know", false)
	d.ran(0)
}

// Bedrock sends each value as a text, also "12345" and "null".
func TestAnOptionalTextOfBedrockStaysAText(t *testing.T) {
	type note struct {
		Order string  `json:"order"`
		Text  *string `json:"text"`
	}
	x, err := idempotent.New("notes", memory.New(0), &idempotent.Config{Observer: idempotent.NoObserver{}})
	check.Must(t, err)
	tool := tools.New(x, &mcp.Tool{Name: "note"}, func(n note) (idempotent.Key, error) { return idempotent.Key{ID: n.Order}, nil },
		func(_ context.Context, n note) (note, error) { return n, nil })
	for _, text := range []string{"12345", "null", "true", "1e3"} {
		event := `{"function":"note","parameters":[{"name":"order","value":"` + text + `"},{"name":"text","value":"` + text + `"}]}`
		got, err := tools.ActionGroup(tools.NoIdentity(), tool)(t.Context(), json.RawMessage(event))
		check.Must(t, err)
		check.Contains(t, string(got), `\"text\":\"`+text+`\"`)
		check.Lacks(t, string(got), "essionAttributes")
	}
}
