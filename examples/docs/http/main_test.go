package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
)

func TestMain(m *testing.M) { os.Exit(dynamodblocal.Main(m)) }

const secret = "whsec"

func digest(token string) string {
	d := sha256.Sum256([]byte(token))
	return hex.EncodeToString(d[:])
}

// An answer is an http.Response in one piece.
type answer struct {
	status   int
	replayed bool
	body     string
}

// A place is where the server runs, with tables of its own.
type place struct {
	send              func(t *testing.T, path string, h http.Header, body string) answer
	records, invoices func(t *testing.T) int // number of items
}

// everywhere runs a test against the handler behind net/http, and against the compiled
// function, which receives the events of a function URL.
func everywhere(t *testing.T, test func(t *testing.T, p place)) {
	for name, serve := range map[string]func(t *testing.T, records, invoices string) func(*testing.T, string, http.Header, string) answer{
		"locally": locally, "on Lambda": onLambda,
	} {
		t.Run(name, func(t *testing.T) {
			client, records := dynamodblocal.NewTable(t)
			_, invoices := dynamodblocal.NewTable(t)
			count := func(table string) func(t *testing.T) int {
				return func(t *testing.T) int {
					all, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
					if err != nil {
						t.Fatal(err)
					}
					return len(all.Items)
				}
			}
			test(t, place{send: serve(t, records, invoices), records: count(records), invoices: count(invoices)})
		})
	}
}

func locally(t *testing.T, records, invoices string) func(*testing.T, string, http.Header, string) answer {
	client, _ := dynamodblocal.NewTable(t) // for its client: the tables are those of the caller
	store, err := dynamo.New(client, records, nil)
	if err != nil {
		t.Fatal(err)
	}
	mux, err := routes(store, settings{
		users: map[string]string{digest("ada's"): "ada", digest("eve's"): "eve"}, secret: []byte(secret), invoices: invoices,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return func(t *testing.T, path string, h http.Header, body string) answer {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = h
		response, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if _, err := io.Copy(&text, response.Body); err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
		return answer{response.StatusCode, response.Header.Get("Idempotent-Replayed") == "true", text.String()}
	}
}

func onLambda(t *testing.T, records, invoices string) func(*testing.T, string, http.Header, string) answer {
	lambda := lambdaruntime.StartTest(t, lambdaruntime.Function{
		Binary: lambdaruntime.BuildTest(t, ".", "."),
		Env: []string{
			"AWS_ENDPOINT_URL_DYNAMODB=" + os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"), "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local",
			"IDEMPOTENCY_TABLE=" + records, "INVOICES_TABLE=" + invoices, "WEBHOOK_SECRET=" + secret,
			fmt.Sprintf("USERS={%q: %q, %q: %q}", digest("ada's"), "ada", digest("eve's"), "eve"),
		},
		Timeout: time.Minute,
	})
	return func(t *testing.T, path string, h http.Header, body string) answer {
		event := events.LambdaFunctionURLRequest{
			Version: "2.0", RawPath: path, Headers: map[string]string{}, Body: base64.StdEncoding.EncodeToString([]byte(body)), IsBase64Encoded: true,
		}
		event.RequestContext.HTTP.Method, event.RequestContext.DomainName = http.MethodPost, "id.lambda-url.eu-west-1.on.aws"
		for name := range h {
			event.Headers[strings.ToLower(name)] = h.Get(name)
		}
		payload, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		response, err := lambda.Invoke(t.Context(), payload)
		if err != nil || response.FunctionError != nil {
			t.Fatal(err, response.FunctionError)
		}
		var got events.LambdaFunctionURLResponse
		if err := json.Unmarshal(response.Payload, &got); err != nil {
			t.Fatal(err)
		}
		text, err := base64.StdEncoding.DecodeString(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer{got.StatusCode, got.Headers["Idempotent-Replayed"] == "true", string(text)}
	}
}

func TestPaymentIsChargedOnceForEachUserAndKey(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		pay := func(token, key, body string) answer {
			return p.send(t, "/payments", http.Header{"Authorization": {"Bearer " + token}, "Idempotency-Key": {key}}, body)
		}
		const body = `{"card": "c-1", "cents": 990}`
		if got := pay("unknown", "k", body); got.status != 401 || p.records(t) != 0 {
			t.Errorf("an unknown token: %+v, %d records", got, p.records(t))
		}
		first := pay("ada's", "k", body)
		if first.status != 201 || first.replayed || !strings.Contains(first.body, `"charge"`) {
			t.Errorf("the first request: %+v", first)
		}
		if got := pay("ada's", "k", body); got != (answer{201, true, first.body}) {
			t.Errorf("its repetition: %+v, want %q", got, first.body)
		}
		if got := pay("eve's", "k", body); got.status != 201 || got.replayed || got.body == first.body {
			t.Errorf("the key of a second user: %+v", got)
		}
		if got := pay("ada's", "k", `{"card": "c-1", "cents": 1}`); got.status != 422 {
			t.Errorf("the key with another amount: %+v", got)
		}
		if got := pay("ada's", "bad", `{"cents": 0}`); got.status != 400 || got.replayed {
			t.Errorf("a bad request: %+v", got)
		}
		if got := pay("ada's", "bad", body); got.status != 201 || got.replayed {
			t.Errorf("the corrected request: %+v", got)
		}
		for _, replayed := range []bool{false, true} {
			if got := pay("ada's", "declined", `{"card": "empty", "cents": 990}`); got.status != 402 || got.replayed != replayed {
				t.Errorf("a declined card: %+v, want replayed %t", got, replayed)
			}
		}
	})
}

func TestWebhookSettlesOnceWhateverItsDeliveryCounts(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		deliver := func(secret string, at time.Time, body string) answer {
			seconds := strconv.FormatInt(at.Unix(), 10)
			mac := hmac.New(sha256.New, []byte(secret))
			mac.Write([]byte(seconds + "." + body))
			return p.send(t, "/webhooks", http.Header{"X-Timestamp": {seconds}, "X-Signature": {hex.EncodeToString(mac.Sum(nil))}}, body)
		}
		body := func(delivery, cents int) string {
			return fmt.Sprintf(`{"id": "e-1", "delivery": %d, "invoice": "i-1", "cents": %d}`, delivery, cents)
		}
		for what, got := range map[string]answer{
			"a wrong secret":  deliver("guess", time.Now(), body(1, 990)),
			"an old delivery": deliver(secret, time.Now().Add(-time.Hour), body(1, 990)),
			"no signature":    p.send(t, "/webhooks", http.Header{}, body(1, 990)),
		} {
			if got.status != 401 || p.records(t) != 0 {
				t.Errorf("%s: %+v, %d records", what, got, p.records(t))
			}
		}
		if got := deliver(secret, time.Now(), body(1, 990)); got.status != 204 || got.replayed {
			t.Errorf("the first delivery: %+v", got)
		}
		if got := deliver(secret, time.Now().Add(time.Second), body(2, 990)); got.status != 204 || !got.replayed {
			t.Errorf("its redelivery: %+v", got)
		}
		if got := deliver("guess", time.Now(), body(3, 990)); got.status != 401 {
			t.Errorf("a redelivery with a wrong secret: %+v", got)
		}
		if got := deliver(secret, time.Now(), body(1, 1)); got.status != 422 {
			t.Errorf("another event with the same id: %+v", got)
		}
		if p.records(t) != 1 || p.invoices(t) != 1 {
			t.Errorf("%d records and %d invoices, want 1 and 1", p.records(t), p.invoices(t))
		}
		for range 2 { // a refused event is not stored
			if got := deliver(secret, time.Now(), `{"id": "e-2", "invoice": 2}`); got.status != 400 || got.replayed {
				t.Errorf("an event without an invoice: %+v", got)
			}
		}
	})
}
