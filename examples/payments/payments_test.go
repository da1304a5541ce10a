package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
)

func TestMain(m *testing.M) {
	os.Exit(deployed.Main(func() int { return dynamodblocal.Main(m) }))
}

// function is the compiled function with tables of its own.
type function struct {
	*lambdaruntime.Runtime
	client   *dynamodb.Client
	payments string
	log      logLines
}

// logLines receives the lines of the function. Lines that do not fit are dropped.
type logLines chan string

func (l logLines) Write(line []byte) (int, error) {
	select {
	case l <- string(line):
	default:
	}
	return len(line), nil
}

func deploy(t *testing.T) function {
	t.Helper()
	client, records := dynamodblocal.NewTable(t)
	_, payments := dynamodblocal.NewTable(t) // its key is an id too
	lines := make(logLines, 1000)
	env := []string{"IDEMPOTENCY_TABLE=" + records, "PAYMENTS_TABLE=" + payments}
	return function{deployed.Start(t, lambdaruntime.Function{Name: "payments", Environments: 2, Log: lines}, env...), client, payments, lines}
}

func (f function) charges(t *testing.T) int {
	t.Helper()
	return len(deployed.Items(t, f.client, f.payments))
}

func event(key, body string) events.APIGatewayV2HTTPRequest {
	e := events.APIGatewayV2HTTPRequest{Version: "2.0", RawPath: "/payments", Body: body, Headers: map[string]string{}}
	e.RequestContext.HTTP.Method = http.MethodPost
	if key != "" {
		e.Headers["idempotency-key"] = key
	}
	return e
}

func send(t *testing.T, to deployed.Invoker, e events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPResponse {
	t.Helper()
	r, err := deployed.Call[events.APIGatewayV2HTTPResponse](t.Context(), to, e)
	check.Must(t, err)
	return r
}

const body = `{"amount":1299,"currency":"EUR","source":"card_1"}`

// CloudWatch makes the metrics out of the log.
func TestMetricsAreInTheLog(t *testing.T) {
	f := deploy(t)
	for _, outcome := range []string{"executed", "replayed"} {
		send(t, f.Environment(0), event("k", body))
		line, m := nextMetrics(t, f.log)
		if m.Operation != "create-payment" || m.Outcome != outcome || m.Calls != 1 {
			t.Errorf("want %s: %s", outcome, line)
		}
	}
}

type metrics struct {
	AWS                *struct{} `json:"_aws"`
	Operation, Outcome string
	Calls              int
}

func nextMetrics(t *testing.T, log logLines) (string, metrics) {
	t.Helper()
	for {
		select {
		case line := <-log:
			var m metrics
			_, text, _ := strings.Cut(line, " ") // behind the environment's name
			if json.Unmarshal([]byte(text), &m) == nil && m.AWS != nil {
				return line, m
			}
		case <-time.After(time.Minute):
			t.Fatal("no metrics are logged")
		}
	}
}

func TestOneChargeAKey(t *testing.T) {
	f := deploy(t)
	first := send(t, f.Environment(0), event("k1", body))
	var paid payment
	if err := json.Unmarshal([]byte(first.Body), &paid); err != nil || first.StatusCode != http.StatusCreated || paid.ID == "" || paid.Amount != 1299 {
		t.Fatalf("first: %+v, %v", first, err)
	}
	check.Equal(t, first.Headers["Idempotent-Replayed"], "", "the first response is a replay", first)
	// A different spelling of the key, or of the body, is the same request.
	for _, again := range []events.APIGatewayV2HTTPRequest{
		event("k1", body), event(`"k1"`, body), event("k1", `{"source":"card_1", "currency":"EUR", "amount":1299}`),
	} {
		got := send(t, f.Environment(1), again)
		if got.StatusCode != first.StatusCode || got.Body != first.Body || got.Headers["Idempotent-Replayed"] != "true" {
			t.Errorf("repeated: %+v\nfirst: %+v", got, first)
		}
	}
	check.Equal(t, f.charges(t), 1, "charges")
	if other := send(t, f, event("k2", body)); other.StatusCode != http.StatusCreated {
		t.Errorf("another key: %+v", other)
	}
	check.Equal(t, f.charges(t), 2, "charges for two keys")
}

func TestRefusals(t *testing.T) {
	f := deploy(t)
	if first := send(t, f, event("used", body)); first.StatusCode != http.StatusCreated {
		t.Fatalf("first: %+v", first)
	}
	get := event("k", body)
	get.RequestContext.HTTP.Method = http.MethodGet
	encoded := event("k", "not base64")
	encoded.IsBase64Encoded = true
	for name, c := range map[string]struct {
		event events.APIGatewayV2HTTPRequest
		want  int
	}{
		"no key":          {event("", body), http.StatusBadRequest},
		"a long key":      {event(string(bytes.Repeat([]byte("k"), 2000)), body), http.StatusBadRequest},
		"no body":         {event("k", ""), http.StatusBadRequest},
		"no JSON":         {event("k", "amount=1299"), http.StatusBadRequest},
		"no amount":       {event("k", `{"currency":"EUR","source":"card_1"}`), http.StatusBadRequest},
		"not base64":      {encoded, http.StatusBadRequest},
		"two keys":        {event("k,l", body), http.StatusBadRequest},
		"another payload": {event("used", `{"amount":1300,"currency":"EUR","source":"card_1"}`), http.StatusUnprocessableEntity},
		"another method":  {get, http.StatusNotFound},
	} {
		r := send(t, f, c.event)
		if r.StatusCode != c.want || r.Headers["Content-Type"] != "application/problem+json" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	// None of these requests has stored a result for its key.
	if r := send(t, f, event("k", body)); r.StatusCode != http.StatusCreated || r.Headers["Idempotent-Replayed"] != "" {
		t.Errorf("a better request: %+v", r)
	}
	check.Equal(t, f.charges(t), 2, "charges")
}

// Two subjects may choose the same key.
func TestEachSubjectHasItsKeys(t *testing.T) {
	f := deploy(t)
	from := func(subject string) events.APIGatewayV2HTTPRequest {
		e := event("k", body)
		e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
			JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"sub": subject}},
		}
		return e
	}
	for _, e := range []events.APIGatewayV2HTTPRequest{from("ada"), from("eve"), event("k", body), from("ada")} {
		if r := send(t, f, e); r.StatusCode != http.StatusCreated {
			t.Errorf("got %+v", r)
		}
	}
	check.Equal(t, f.charges(t), 3, "charges of three callers")
}
