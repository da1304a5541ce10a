package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/nodemodules"
	"github.com/lambda-once/once/internal/notrun"
)

// functionURL is the function's URL with the AuthType AWS_IAM. A cut call ends its
// connection.
type functionURL struct{ *cutter }

func (u functionURL) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client has left
	}
	var sent struct {
		ID     json.RawMessage
		Params struct{ Arguments request }
	}
	_ = json.Unmarshal(body, &sent) // there is none in a GET
	payload, err := json.Marshal(eventOf(r.Method, string(body), r.Header))
	check.Nil(u.t, err)
	answer, ok := u.call(r.Context(), sent.Params.Arguments.Charge, payload)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	var e events.APIGatewayV2HTTPResponse
	check.Nil(u.t, json.Unmarshal(answer.Payload, &e))
	if sent.ID != nil {
		var received struct{ ID json.RawMessage }
		check.Nil(u.t, json.Unmarshal([]byte(e.Body), &received), e.Body)
		check.Equal(u.t, string(received.ID), string(sent.ID), "the JSON-RPC id")
	}
	for name, value := range e.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(e.StatusCode)
	_, _ = io.WriteString(w, e.Body) // a client that has left repeats
}

// eventOf returns an event of the function URL.
func eventOf(method, body string, header http.Header) events.APIGatewayV2HTTPRequest {
	e := events.APIGatewayV2HTTPRequest{Version: "2.0", RawPath: "/", Body: body, Headers: map[string]string{}}
	e.RequestContext.HTTP.Method = method
	e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
		IAM: &events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{UserARN: "arn:aws:sts::111122223333:assumed-role/shop/one"},
	}
	for name, values := range header {
		e.Headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	return e
}

// A test has 40 charges, each of whose calls is cut five times: 200 cuts.
const (
	charges = 40
	each    = 5
)

// The client speaks the newest version of the protocol. After a cut it repeats its call
// in a new session.
func TestTheGoClientIsCutOffTwoHundredTimesAndRefundsEachChargeOnce(t *testing.T) {
	t.Parallel()
	all := chargesOf(charges)
	c := newCutter(newFunction(t, "mcp"), all, each)
	server := httptest.NewServer(functionURL{c})
	defer server.Close()

	var mu sync.Mutex
	read := map[string]string{}
	inParallel(all, func(charge string) {
		text := refundByMCP(t, server.URL, charge, "it was late")
		mu.Lock()
		defer mu.Unlock()
		read[charge] = text
	})
	for charge, want := range c.once(all, charges*each) {
		text, err := json.Marshal(want)
		check.Must(t, err)
		check.Equal(t, read[charge], string(text), charge)
		// The model plans the same call anew, in other words.
		check.Equal(t, refundByMCP(t, server.URL, charge, "the customer has asked again"), string(text), charge)
	}
	c.once(all, charges*each)
}

// refundByMCP returns the text of the result.
func refundByMCP(t *testing.T, url, charge, reason string) string {
	for t.Context().Err() == nil {
		client := mcp.NewClient(&mcp.Implementation{Name: "refunds", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1, DisableStandaloneSSE: true}, nil)
		if err != nil {
			continue
		}
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "refund", Arguments: request{charge, 100, reason}})
		_ = session.Close() // of a connection that may be cut
		if err != nil || result.Meta["once/retryAfterSeconds"] != nil {
			continue
		}
		text, ok := result.Content[0].(*mcp.TextContent)
		check.True(t, ok && !result.IsError, charge, result.Content)
		return text.Text
	}
	return ""
}

// The client of npm calls initialize first.
func TestTheNPMClientIsCutOffTwoHundredTimesAndRefundsEachChargeOnce(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		notrun.Say(t, "there is no node")
		t.Skip("there is no node")
	}
	dir, err := nodemodules.Install(t.Context(), "refunds-client", os.DirFS("testdata/client"), t.Output())
	check.Must(t, err)
	all := chargesOf(charges)
	c := newCutter(newFunction(t, "mcp"), all, each)
	server := httptest.NewServer(functionURL{c})
	defer server.Close()

	command := exec.CommandContext(t.Context(), node, append([]string{filepath.Join(dir, "client.mjs"), server.URL}, all...)...)
	var failed bytes.Buffer
	command.Stderr = &failed
	out, err := command.Output()
	check.Must(t, err, failed.String())
	read := map[string]refunded{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var line struct {
			Charge  string
			IsError bool
			Result  refunded
		}
		check.Must(t, json.Unmarshal(lines.Bytes(), &line), lines.Text())
		check.False(t, line.IsError, lines.Text())
		read[line.Charge] = line.Result
	}
	for charge, want := range c.once(all, charges*each) {
		check.Equal(t, read[charge], want, charge)
	}
}

// inParallel calls f for four charges at a time.
func inParallel(all []string, f func(charge string)) {
	next := make(chan string)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for charge := range next {
				f(charge)
			}
		})
	}
	for _, charge := range all {
		next <- charge
	}
	close(next)
	workers.Wait()
}

func TestRefusalsReachTheModel(t *testing.T) {
	t.Parallel()
	f := newFunction(t, "mcp")
	server := httptest.NewServer(functionURL{newCutter(f, nil, 0)})
	defer server.Close()
	client := mcp.NewClient(&mcp.Implementation{Name: "refunds", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL, DisableStandaloneSSE: true}, nil)
	check.Must(t, err)
	for _, c := range []struct {
		amount int64
		says   string
	}{{2000, "the provider refuses this refund"}, {2000, "the provider refuses this refund"}, {100, "with other arguments"}} {
		result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "refund", Arguments: request{"ch-1", c.amount, ""}})
		check.Must(t, err)
		check.True(t, result.IsError)
		check.Contains(t, result.Content[0].(*mcp.TextContent).Text, c.says)
	}
	check.Equal(t, f.provider.refunds("ch-1"), 0, "refunds")
	check.Must(t, session.Close())
}
