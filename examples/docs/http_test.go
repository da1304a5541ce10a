package docs_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/keypath"
	"github.com/lambda-once/once/idempotent/memory"
)

// The code of docs/http.md.

func pay(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	var p Payment
	if err := json.Unmarshal([]byte(event.Body), &p); err != nil {
		return events.APIGatewayV2HTTPResponse{}, &httpapi.StatusError{Status: 400, Detail: "The body is not JSON.", Err: err}
	}
	receipt, err := createPayment(ctx, p)
	return events.APIGatewayV2HTTPResponse{StatusCode: 201, Body: receipt.ID}, err
}

func serveHTTPAPI(x *idempotent.Executor) {
	lambda.Start(httpapi.APIGatewayV2(x, httpapi.JWTClaim("sub"), pay, nil))
}

func userOf(r *http.Request) (string, error) {
	user, _, _ := r.BasicAuth() // "" is refused
	return user, nil
}

func middleware(x *idempotent.Executor, mux *http.ServeMux, payments http.Handler) {
	protect := httpapi.Middleware(x, httpapi.RequestScope(userOf), &httpapi.Options{
		Documentation: "https://api.example.com/docs/idempotency",
		StoreHeaders:  []string{"Last-Modified"},
	})
	mux.Handle("POST /payments", protect(payments))
}

func decline(err error) (events.APIGatewayV2HTTPResponse, error) {
	return events.APIGatewayV2HTTPResponse{}, &httpapi.StatusError{Status: 402, Detail: "The card was declined.", Err: err}
}

func TestHTTPPageOfMiddleware(t *testing.T) {
	x := mustPolicies(t)
	mux := http.NewServeMux()
	middleware(x, mux, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, idempotent.DownstreamKey(r.Context(), "charge"))
	}))
	send := func(user, key, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/payments", strings.NewReader(body))
		r.Header.Set("Idempotency-Key", key)
		r.SetBasicAuth(user, "")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w
	}
	first := send("ada", "k", `{"amount":1}`)
	again := send("ada", `"k"`, `{"amount": 1.0}`)
	other := send("eve", "k", `{"amount":1}`)
	if first.Code != 201 || again.Code != 201 || again.Body.String() != first.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("got %d %s, then %d %s %v", first.Code, first.Body, again.Code, again.Body, again.Header())
	}
	if other.Code != 201 || other.Body.String() == first.Body.String() || other.Header().Get("Idempotent-Replayed") != "" {
		t.Errorf("another user got %d %s", other.Code, other.Body)
	}
	for want, r := range map[int]*httptest.ResponseRecorder{
		400: send("ada", "", ""), 403: send("", "k", `{"amount":1}`), 422: send("ada", "k", `{"amount":2}`),
	} {
		if r.Code != want || !strings.Contains(r.Body.String(), "https://api.example.com/docs/idempotency") {
			t.Errorf("got %d %s, want %d", r.Code, r.Body, want)
		}
	}
}

// The routes of the example app have no authorizer, for which JWTClaim alone
// refuses every request. The page says so.
func TestHTTPPageSaysWhichScopePublicRoutesNeed(t *testing.T) {
	page, app := read(t, "docs/http.md"), read(t, "infra/cmd/examples/main.go")
	if !strings.Contains(app, "Public: true") || !strings.Contains(page, "`FirstOf(JWTClaim(\"sub\"), NoIdentity())`") {
		t.Error("docs/http.md does not say which scope the public routes of the example app need")
	}
	for want, scope := range map[int]httpapi.Scope{
		403: httpapi.JWTClaim("sub"), 201: httpapi.FirstOf(httpapi.JWTClaim("sub"), httpapi.NoIdentity()),
	} {
		x := executor(t, "create-payment", nil)
		public := events.APIGatewayV2HTTPRequest{Version: "2.0", Body: "{}", Headers: map[string]string{"idempotency-key": "k"}}
		public.RequestContext.HTTP.Method = "POST"
		answer, err := httpapi.APIGatewayV2(x, scope, pay, nil)(t.Context(), public)
		if err != nil || answer.StatusCode != want {
			t.Errorf("%d, want %d: %s, %v", answer.StatusCode, want, answer.Body, err)
		}
	}
}

func TestHTTPPageOfStatusError(t *testing.T) {
	runs := 0
	handler := httpapi.APIGatewayV2(mustPolicies(t), httpapi.NoIdentity(), func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		runs++
		return decline(errors.New("secret"))
	}, nil)
	event := events.APIGatewayV2HTTPRequest{Headers: map[string]string{"idempotency-key": "k"}}
	event.RequestContext.HTTP.Method = "POST"
	const want = `{"type":"about:blank","title":"Payment Required","status":402,"detail":"The card was declined."}`
	for range 2 {
		if r, err := handler(t.Context(), event); err != nil || r.StatusCode != 402 || r.Body != want || runs != 1 {
			t.Errorf("got %+v, %v after %d runs", r, err, runs)
		}
	}
}

func webhookOptions() (body, header *httpapi.Options) {
	webhooks := &httpapi.Options{Key: keypath.Path[httpapi.Request]("body.id")}
	deliveries := &httpapi.Options{Key: httpapi.HeaderKey("X-GitHub-Delivery")}
	return webhooks, deliveries
}

func TestHTTPPageOfKeysInOtherPlaces(t *testing.T) {
	body, header := webhookOptions()
	for _, o := range []*httpapi.Options{body, header} {
		runs := 0
		handler := httpapi.APIGatewayV2(mustPolicies(t), httpapi.NoIdentity(), func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			runs++
			return events.APIGatewayV2HTTPResponse{StatusCode: 204}, nil
		}, o)
		for _, id := range []string{"1", "1", "2"} {
			event := events.APIGatewayV2HTTPRequest{Body: `{"id":"evt_` + id + `"}`, Headers: map[string]string{"x-github-delivery": id}}
			event.RequestContext.HTTP.Method = "POST"
			if r, err := handler(t.Context(), event); err != nil || r.StatusCode != 204 {
				t.Errorf("got %+v, %v", r, err)
			}
		}
		if runs != 2 {
			t.Errorf("%d runs", runs)
		}
	}
}

func signed(secret []byte) func(httpapi.Request) (idempotent.Key, error) {
	return func(r httpapi.Request) (idempotent.Key, error) {
		mac := hmac.New(sha256.New, secret)
		mac.Write(r.Body)
		signature, err := hex.DecodeString(r.Headers.Get("X-Signature"))
		if err != nil || !hmac.Equal(signature, mac.Sum(nil)) {
			return idempotent.Key{}, &httpapi.StatusError{Status: 401, Detail: "The signature is wrong."}
		}
		var event struct {
			ID   string          `json:"id"`
			Data json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(r.Body, &event); err != nil {
			return idempotent.Key{}, &httpapi.StatusError{Status: 400, Detail: "The body is not JSON.", Err: err}
		}
		return idempotent.Key{ID: event.ID, Payload: event.Data}, nil
	}
}

// Each delivery is checked, also one that is a repetition, and a counter beside the data
// makes no other request of it.
func TestHTTPPageOfSignedWebhooks(t *testing.T) {
	secret := []byte("secret")
	o := &httpapi.Options{Key: signed(secret)}
	runs := 0
	event := httpapi.APIGatewayV2(executor(t, "webhook", nil), httpapi.NoIdentity(), func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		runs++
		return events.APIGatewayV2HTTPResponse{StatusCode: 204}, nil
	}, o)
	served := httpapi.Middleware(executor(t, "webhook", nil), httpapi.NoIdentity(), o)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		runs++
		w.WriteHeader(http.StatusNoContent)
	}))
	again := func(w http.ResponseWriter, r *http.Request) { // reads the body before Middleware does
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		served.ServeHTTP(w, r)
	}
	for name, send := range map[string]func(body, signature string) int{
		"event": func(body, signature string) int {
			e := events.APIGatewayV2HTTPRequest{Body: body, Headers: map[string]string{"x-signature": signature}}
			e.RequestContext.HTTP.Method = "POST"
			answer, err := event(t.Context(), e)
			if err != nil {
				t.Error(err)
			}
			return answer.StatusCode
		},
		"middleware": func(body, signature string) int {
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(body))
			r.Header.Set("X-Signature", signature)
			w := httptest.NewRecorder()
			again(w, r)
			return w.Code
		},
	} {
		runs = 0
		for i, c := range []struct {
			body, secret string
			status, runs int
		}{
			{`{"id": "e-1", "tries": 1, "data": {"paid": true}}`, "wrong", 401, 0},
			{`{"id": "e-1", "tries": 1, "data": {"paid": true}}`, "secret", 204, 1},
			{`{"id": "e-1", "tries": 2, "data": {"paid": true}}`, "secret", 204, 1},
			{`{"id": "e-1", "tries": 3, "data": {"paid": true}}`, "wrong", 401, 1},
			{`{"id": "e-1", "tries": 1, "data": {"paid": false}}`, "secret", 422, 1},
			{`{"tries": 1, "data": {"paid": true}}`, "secret", 400, 1},
			{`{`, "secret", 400, 1},
		} {
			mac := hmac.New(sha256.New, []byte(c.secret))
			mac.Write([]byte(c.body))
			if got := send(c.body, hex.EncodeToString(mac.Sum(nil))); got != c.status || runs != c.runs {
				t.Errorf("%s, delivery %d: status %d after %d runs, want %d after %d", name, i, got, runs, c.status, c.runs)
			}
		}
	}
}

func mustPolicies(t *testing.T) *idempotent.Executor {
	t.Helper()
	x, err := policies(memory.New(0))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

var _ = serveHTTPAPI
