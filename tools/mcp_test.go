package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/tools"
)

func TestARepetitionReceivesTheStoredResultUnderItsOwnID(t *testing.T) {
	d := newDesk(t, byOrder)
	to := tools.MCP(tools.NoIdentity(), nil, d.tool)
	first := call(t, to, `1`, arguments, "")
	check.Equal(t, string(first.Result.Structured), `{"id":"r-o-1-\u003c\u0026\u003e","order":"o-1","amount":9007199254740993}`)
	check.False(t, first.Result.IsError, first.text())
	for _, id := range []string{`2`, `"planned anew"`, `1`} {
		again := call(t, to, id, `{"reason":"planned anew","amount":9007199254740993,"order":"o-1"}`, `"progressToken":`+id)
		check.Equal(t, string(again.Result.Structured), string(first.Result.Structured), id)
		check.Equal(t, again.text(), first.text(), id)
	}
	d.ran(1)
	call(t, to, `1`, `{"order":"o-2","amount":1}`, "")
	d.ran(2, "with the id of another call")
}

// lambda is the transport of a client to the door, as a function URL is.
type lambda struct{ to door }

func (l lambda) RoundTrip(r *http.Request) (*http.Response, error) {
	e := events.APIGatewayV2HTTPRequest{Headers: map[string]string{}}
	e.RequestContext.HTTP.Method = r.Method
	for name := range r.Header {
		e.Headers[strings.ToLower(name)] = strings.Join(r.Header[name], ",")
	}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		e.Body = string(body)
	}
	answer, err := l.to(r.Context(), e)
	if err != nil {
		return nil, err
	}
	w := &http.Response{StatusCode: answer.StatusCode, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer.Body)), Request: r}
	for name, value := range answer.Headers {
		w.Header.Set(name, value)
	}
	return w, nil
}

func TestClientsOfEveryVersionCallATool(t *testing.T) {
	d := newDesk(t, byOrder)
	to := tools.MCP(tools.NoIdentity(), nil, d.tool)
	var first []byte
	for _, version := range []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"} {
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: "https://function.example", HTTPClient: &http.Client{Transport: lambda{to}}, DisableStandaloneSSE: true,
		}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		check.Must(t, err, version)
		listed, err := session.ListTools(t.Context(), nil)
		check.Must(t, err, version)
		check.True(t, len(listed.Tools) == 1 && listed.Tools[0].Annotations.IdempotentHint, version, listed.Tools)
		got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "refund", Arguments: map[string]any{"order": "o-1", "amount": 7}})
		check.Must(t, err, version)
		text, err := json.Marshal(got.StructuredContent)
		check.Must(t, err)
		if first == nil {
			first = text
		}
		check.True(t, bytes.Equal(text, first) && !got.IsError, version, string(text))
		check.Must(t, session.Close(), version)
	}
	d.ran(1)
}

func TestListingClaimsNoRecord(t *testing.T) {
	d := newDesk(t, byOrder)
	r := post(t, tools.MCP(tools.NoIdentity(), nil, d.tool), "2025-06-18", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	check.Contains(t, r.Body, `"idempotentHint":true`)
	check.Contains(t, r.Body, `"outputSchema"`)
	check.Equal(t, d.records(), 0, "records")
}

// The client's key comes first, in _meta or in the header.
func TestTheClientsKeyComesBeforeTheArguments(t *testing.T) {
	d := newDesk(t, byOrder)
	to := tools.MCP(tools.NoIdentity(), &tools.Options{MetaKey: "example.com/key"}, d.tool)
	call(t, to, `1`, arguments, `"example.com/key":"k-1"`)
	call(t, to, `2`, arguments, `"example.com/key":"k-2"`)
	d.ran(2, "two keys of the client")
	call(t, to, `3`, arguments, "", header("idempotency-key", "k-1"))
	call(t, to, `4`, arguments, `"example.com/key":"k-1"`, header("idempotency-key", `"k-1"`))
	d.ran(2, "the same key in the header")
	call(t, to, `5`, arguments, `"idempotencyKey":"k-9"`)
	d.ran(3, "the arguments, without a key")

	// The amount alone is compared for an order, and the order for a key.
	refused(t, call(t, to, `6`, `{"order":"o-2","amount":9007199254740993}`, `"example.com/key":"k-1"`), "with other arguments", false)
	refused(t, call(t, to, `7`, `{"order":"o-1","amount":2}`, `"example.com/key":"k-1"`), "with other arguments", false)
	refused(t, call(t, to, `8`, `{"order":"o-1","amount":2}`, ""), "with other arguments", false)
	d.ran(3)
}

func TestWithoutAPayloadAllArgumentsAreCompared(t *testing.T) {
	d := newDesk(t, idempotent.Field(func(r refund) string { return r.Order }))
	to := tools.MCP(tools.NoIdentity(), nil, d.tool)
	call(t, to, `1`, arguments, "")
	refused(t, call(t, to, `2`, `{"order":"o-1","amount":9007199254740993,"reason":"broken"}`, ""), "with other arguments", false)
	check.False(t, call(t, to, `3`, `{"reason":"late","amount":9007199254740993,"order":"o-1"}`, "").Result.IsError, "another order of the members")
	d.ran(1)
}

func TestAMissingOrInvalidKeyIsARefusal(t *testing.T) {
	d := newDesk(t, nil)
	to := tools.MCP(tools.NoIdentity(), nil, d.tool)
	long := strings.Repeat("k", 256)
	for _, c := range []struct{ meta, header, says string }{
		{"", "", "or an idempotency key if the tool takes one"},
		{`"idempotencyKey":7`, "", "is not a text"},
		{`"idempotencyKey":""`, "", "is not a text"},
		{`"idempotencyKey":"` + long + `"`, "", "has 256 bytes"},
		{`"idempotencyKey":"a\nb"`, "", "control character"},
		{`"idempotencyKey":"a"`, "b", "is not the one in _meta"},
		{"", "a,b", "without quotes"},
		{"", `"a" "b"`, "is not one string"},
		{"", `""`, "is empty"},
		{"", long, "has 256 bytes"},
	} {
		edit := header("x-other", "")
		if c.header != "" {
			edit = header("idempotency-key", c.header)
		}
		refused(t, call(t, to, `1`, arguments, c.meta, edit), c.says, false)
	}
	check.Equal(t, d.records(), 0, "records")
	d.ran(0)
	check.False(t, call(t, to, `1`, arguments, `"idempotencyKey":"a b"`).Result.IsError, "a key with a space in _meta")
}

func TestMissingKeysRunUnprotectedIfTheConfigSaysSo(t *testing.T) {
	d := newDeskWith(t, nil, &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
	to := tools.MCP(tools.NoIdentity(), nil, d.tool)
	for range 2 {
		check.False(t, call(t, to, `1`, arguments, "").Result.IsError)
	}
	d.ran(2)
	check.Equal(t, d.records(), 0, "records")
}

// Two customers with one key, and the same arguments.
func TestCallersNeverShareAResult(t *testing.T) {
	d := newDesk(t, byOrder)
	to := tools.MCP(tools.ScopeFunc(func(c tools.Caller) (string, error) { return c.Claims["sub"], nil }), nil, d.tool)
	for _, meta := range []string{"", `"idempotencyKey":"k"`} {
		before := d.runs.Load()
		for _, sub := range []string{"ada", "eve", "ada"} {
			check.False(t, call(t, to, `1`, arguments, meta, subject(sub)).Result.IsError, sub)
		}
		d.ran(before+2, meta)
		refused(t, call(t, to, `1`, arguments, meta), "caller is unknown", false)
		d.ran(before+2, meta)
	}
}

func TestAScopeThatFailsFailsTheCall(t *testing.T) {
	d := newDesk(t, byOrder)
	to := tools.MCP(tools.ScopeFunc(func(tools.Caller) (string, error) { return "", errors.New("secret") }), nil, d.tool)
	refused(t, call(t, to, `1`, arguments, ""), "The call failed.", false)
	d.ran(0)
}

func TestArgumentsThatDoNotFitClaimNoRecord(t *testing.T) {
	d := newDesk(t, byOrder)
	to := tools.MCP(tools.NoIdentity(), nil, d.tool)
	for _, bad := range []string{`{"order":"o-1"}`, `{"order":1,"amount":1}`, `{"order":"o-1","amount":1,"more":1}`, `{"order":"o-1","amount":1.5}`, `{"Order":"o-1","amount":1}`, `{}`, `[]`, `null`} {
		refused(t, call(t, to, `1`, bad, `"idempotencyKey":"k"`), "do not fit the tool's schema", false)
		event := <-d.calls
		check.Equal(t, event.Refusal(), idempotent.RefusalUnreadable, bad)
	}
	check.Equal(t, d.records(), 0, "records")
	d.ran(0)
	check.False(t, call(t, to, `1`, arguments, `"idempotencyKey":"k"`).Result.IsError, "the key is still free")
}

func TestACallMeetsARunningOne(t *testing.T) {
	d := newDeskWith(t, byOrder, &idempotent.Config{})
	entered, leave := make(chan struct{}), make(chan struct{})
	d.work = func(context.Context, refund) (receipt, error) {
		close(entered)
		<-leave
		return receipt{ID: "r"}, nil
	}
	to := tools.MCP(tools.NoIdentity(), nil, d.tool)
	first := make(chan result)
	go func() { first <- call(t, to, `1`, arguments, "") }()
	<-entered
	refused(t, call(t, to, `2`, arguments, ""), "still running", true)
	close(leave)
	check.False(t, (<-first).Result.IsError)
	check.Equal(t, call(t, to, `3`, arguments, "").text(), `{"id":"r","order":"","amount":0}`)
	d.ran(1)
}

// With Config.Wait the second call waits for the result of the first. In one batch of an
// early version of the protocol, both are on their way at once.
func TestABatchRunsAToolOnce(t *testing.T) {
	d := newDeskWith(t, byOrder, &idempotent.Config{Wait: time.Minute})
	to := tools.MCP(tools.NoIdentity(), nil, d.tool)
	batch := "[" + callOf("1", arguments, "") + "," + callOf("2", arguments, "") + "]"
	r := post(t, to, "2025-03-26", batch)
	var results []result
	check.Must(t, json.Unmarshal([]byte(r.Body), &results), r.Body)
	check.True(t, len(results) == 2 && results[0].text() == results[1].text() && !results[0].Result.IsError, r.Body)
	d.ran(1)
	check.Equal(t, post(t, to, "2025-06-18", batch).StatusCode, http.StatusBadRequest, "later versions have no batches")
}

func TestWhatIsNoCallRunsNothing(t *testing.T) {
	d := newDesk(t, byOrder)
	to := tools.MCP(tools.NoIdentity(), nil, d.tool)
	notification := strings.Replace(callOf("1", arguments, ""), `"id":1,`, "", 1)
	for body, status := range map[string]int{
		notification: http.StatusBadRequest,
		"":           http.StatusBadRequest,
		"{":          http.StatusBadRequest,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`: http.StatusAccepted,
	} {
		check.Equal(t, post(t, to, "2025-06-18", body).StatusCode, status, body)
	}
	check.Equal(t, post(t, to, "2025-06-18", "!", func(e *events.APIGatewayV2HTTPRequest) { e.IsBase64Encoded = true }).StatusCode, http.StatusBadRequest)
	check.Equal(t, post(t, to, "", "", func(e *events.APIGatewayV2HTTPRequest) { e.RequestContext.HTTP.Method = "GET" }).StatusCode, http.StatusMethodNotAllowed)
	check.Contains(t, post(t, to, "2025-06-18", strings.Replace(callOf("1", arguments, ""), "refund", "other", 1)).Body, "unknown tool")
	d.ran(0)
	check.Equal(t, d.records(), 0, "records")
}

func TestAPermanentErrorIsTheSameRefusalToEveryCall(t *testing.T) {
	d := newDesk(t, byOrder)
	d.work = func(context.Context, refund) (receipt, error) {
		return receipt{}, idempotent.Permanent(errors.New("the order is 91 days old " + strings.Repeat("é", 3000)))
	}
	to := tools.MCP(tools.NoIdentity(), nil, d.tool)
	first := call(t, to, `1`, arguments, "")
	refused(t, first, "the order is 91 days old", false)
	check.Equal(t, call(t, to, `2`, arguments, "").text(), first.text())
	check.True(t, len(first.text()) <= 2000, len(first.text()))
	d.ran(1)
}

// Its text may quote anything, and a call within the tool may have returned an error that
// says something of another key.
func TestAnUnexpectedErrorReleasesTheKeyAndKeepsItsText(t *testing.T) {
	d := newDesk(t, byOrder)
	failures := []error{errors.New("secret"), &idempotent.KeyReusedError{RecordID: "secret"}, &idempotent.InProgressError{RecordID: "secret"}}
	d.work = func(context.Context, refund) (receipt, error) {
		if n := int(d.runs.Load()); n <= len(failures) {
			return receipt{}, failures[n-1]
		}
		return receipt{ID: "r"}, nil
	}
	to := tools.MCP(tools.NoIdentity(), nil, d.tool)
	for range failures {
		r := call(t, to, `1`, arguments, "")
		refused(t, r, "Call it again with the same arguments", true)
		check.Contains(t, r.text(), "The tool failed")
		check.Lacks(t, r.text(), "secret")
	}
	check.False(t, call(t, to, `2`, arguments, "").Result.IsError)
	d.ran(4)
}

func TestAPanicReleasesTheKeyAndReachesLambda(t *testing.T) {
	d := newDesk(t, byOrder)
	d.work = func(context.Context, refund) (receipt, error) { panic("the tool is broken") }
	to := tools.MCP(tools.NoIdentity(), nil, d.tool)
	for range 2 {
		func() {
			defer func() {
				text, _ := recover().(string)
				check.Contains(t, text, "the tool is broken")
				check.Contains(t, text, "mcp_test.go")
			}()
			call(t, to, `1`, arguments, "")
		}()
	}
	d.ran(2)
}

// The function URL of a client that goes away, and the end of the invocation.
func TestTheInvocationBoundsACallAndNotTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, byOrder)
		ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(time.Hour))
		want, _ := ctx.Deadline()
		d.work = func(ctx context.Context, _ refund) (receipt, error) {
			got, ok := ctx.Deadline()
			check.True(t, ok && !got.After(want), "the deadline", got, want)
			cancel()
			time.Sleep(time.Second) // in which a door that heeds the end would answer
			return receipt{ID: "r"}, ctx.Err()
		}
		to := tools.MCP(tools.NoIdentity(), nil, d.tool)
		e := events.APIGatewayV2HTTPRequest{Body: callOf("1", arguments, ""), Headers: map[string]string{
			"content-type": "application/json", "accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18",
		}}
		e.RequestContext.HTTP.Method = http.MethodPost
		got, err := to(ctx, e)
		check.Must(t, err)
		check.Contains(t, got.Body, `"structuredContent":{"id":"r"`, "a process that was frozen past the end of its invocation")
		check.Equal(t, (<-d.calls).Outcome, idempotent.OutcomeExecuted)
		check.Equal(t, call(t, to, `2`, arguments, "").text(), `{"id":"r","order":"","amount":0}`)
		d.ran(1)
	})
}
