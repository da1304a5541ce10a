package main

import (
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
	"github.com/lambda-once/once/internal/check"
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
	outcome
	body string
}

type outcome struct {
	status   int
	replayed bool
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
					check.Must(t, err)
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
	check.Must(t, err)
	mux, err := routes(store, settings{
		users: map[string]string{digest("ada's"): "ada", digest("eve's"): "eve"}, secret: []byte(secret), invoices: invoices,
	})
	check.Must(t, err)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return func(t *testing.T, path string, h http.Header, body string) answer {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
		check.Must(t, err)
		r.Header = h
		response, err := server.Client().Do(r)
		check.Must(t, err)
		text, err := io.ReadAll(response.Body)
		check.Must(t, err)
		check.Must(t, response.Body.Close())
		return answer{outcome{response.StatusCode, response.Header.Get("Idempotent-Replayed") == "true"}, string(text)}
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
		check.Must(t, err)
		response, err := lambda.Invoke(t.Context(), payload)
		if err != nil || response.FunctionError != nil {
			t.Fatal(err, response.FunctionError)
		}
		var got events.LambdaFunctionURLResponse
		check.Must(t, json.Unmarshal(response.Payload, &got))
		text, err := base64.StdEncoding.DecodeString(got.Body)
		check.Must(t, err)
		return answer{outcome{got.StatusCode, got.Headers["Idempotent-Replayed"] == "true"}, string(text)}
	}
}

func TestPaymentIsChargedOnceForEachUserAndKey(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		pay := func(token, key, body string) answer {
			return p.send(t, "/payments", http.Header{"Authorization": {"Bearer " + token}, "Idempotency-Key": {key}}, body)
		}
		const body = `{"card": "c-1", "cents": 990}`
		check.Equal(t, pay("unknown", "k", body).status, 401, "an unknown token")
		check.Equal(t, p.records(t), 0, "records of it")
		first := pay("ada's", "k", body)
		check.Equal(t, first.outcome, outcome{201, false}, "the first request")
		check.Contains(t, first.body, `"charge"`)
		check.Equal(t, pay("ada's", "k", body), answer{outcome{201, true}, first.body}, "its repetition")
		other := pay("eve's", "k", body)
		check.Equal(t, other.outcome, outcome{201, false}, "the key of a second user")
		check.Differ(t, other.body, first.body)
		check.Equal(t, pay("ada's", "k", `{"card": "c-1", "cents": 1}`).status, 422, "the key with another amount")
		check.Equal(t, pay("ada's", "bad", `{"cents": 0}`).outcome, outcome{400, false}, "a bad request")
		check.Equal(t, pay("ada's", "bad", body).outcome, outcome{201, false}, "the corrected request")
		for _, replayed := range []bool{false, true} {
			check.Equal(t, pay("ada's", "declined", `{"card": "empty", "cents": 990}`).outcome, outcome{402, replayed}, "a declined card")
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
			check.Equal(t, got.status, 401, what)
		}
		check.Equal(t, p.records(t), 0, "records of them")
		check.Equal(t, deliver(secret, time.Now(), body(1, 990)).outcome, outcome{204, false}, "the first delivery")
		check.Equal(t, deliver(secret, time.Now().Add(time.Second), body(2, 990)).outcome, outcome{204, true}, "its redelivery")
		check.Equal(t, deliver("guess", time.Now(), body(3, 990)).status, 401, "a redelivery with a wrong secret")
		check.Equal(t, deliver(secret, time.Now(), body(1, 1)).status, 422, "another event with the same id")
		check.Equal(t, p.records(t), 1, "records")
		check.Equal(t, p.invoices(t), 1, "invoices")
		for range 2 { // a refused event is not stored
			check.Equal(t, deliver(secret, time.Now(), `{"id": "e-2", "invoice": 2}`).outcome, outcome{400, false}, "an event without an invoice")
		}
	})
}
