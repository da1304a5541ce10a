package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// What hostile readings of the HTTP half found, one test each.

// callV2 sends a POST with the key k to a handler that answers who asked.
func callV2(t *testing.T, x *idempotent.Executor, scope handlers.Scope, claims map[string]string, who string) events.APIGatewayV2HTTPResponse {
	t.Helper()
	handler := handlers.APIGatewayV2(x, scope, func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		return events.APIGatewayV2HTTPResponse{StatusCode: 201, Body: who}, nil
	}, nil)
	e := events.APIGatewayV2HTTPRequest{Headers: map[string]string{"idempotency-key": "k"}}
	e.RequestContext.HTTP.Method = "POST"
	if claims != nil {
		e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: claims}}
	}
	answer, err := handler(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// All users of an identity pool sign as one role, with one session name.
func TestUsersOfAnIdentityPoolAreNotOne(t *testing.T) {
	const arn = "arn:aws:sts::123456789012:assumed-role/Cognito_Auth_Role/CognitoIdentityCredentials"
	x := newExecutor(t, memory.New(0), nil)
	for name, test := range map[string]struct {
		scope handlers.Scope
		want  int
	}{
		"refused":             {handlers.IAMUser(), 403},
		"not passed over":     {handlers.FirstOf(handlers.IAMUser(), handlers.NoIdentity()), 403},
		"by their identities": {handlers.CognitoIdentity(), 201},
	} {
		handler := handlers.APIGateway(x, test.scope, func(_ context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
			return events.APIGatewayProxyResponse{StatusCode: 201, Body: e.RequestContext.Identity.CognitoIdentityID}, nil
		}, nil)
		for _, user := range []string{"ada", "bob"} {
			e := events.APIGatewayProxyRequest{HTTPMethod: "POST", Headers: map[string]string{"Idempotency-Key": "1"}}
			e.RequestContext.Identity.UserArn, e.RequestContext.Identity.CognitoIdentityID = arn, user
			answer, err := handler(t.Context(), e)
			if err != nil || answer.StatusCode != test.want || test.want == 201 && answer.Body != user {
				t.Errorf("%s: %s gets %+v, %v", name, user, answer, err)
			}
		}
	}
}

// A JWT without the claim has an owner all the same.
func TestJWTWithoutTheClaimIsRefused(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	scope := handlers.FirstOf(handlers.JWTClaim("sub"), handlers.NoIdentity())
	if answer := callV2(t, x, scope, map[string]string{"client_id": "acme"}, "acme"); answer.StatusCode != 403 {
		t.Errorf("acme gets %+v", answer)
	}
	if answer := callV2(t, x, scope, nil, "nobody"); answer.Body != "nobody" {
		t.Errorf("without a JWT: %+v", answer)
	}
}

// A subject is its issuer's own.
func TestJWTSubject(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	for _, issuer := range []string{"a", "b"} {
		if answer := callV2(t, x, handlers.JWTSubject(), map[string]string{"iss": issuer, "sub": "1"}, issuer); answer.Body != issuer {
			t.Errorf("%s gets %+v", issuer, answer)
		}
	}
	if answer := callV2(t, x, handlers.JWTSubject(), map[string]string{"sub": "1"}, "c"); answer.StatusCode != 403 {
		t.Errorf("without issuer: %+v", answer)
	}
}

// Two functions may find the same text for two callers.
func TestFunctionsOfScopesDoNotMeet(t *testing.T) {
	tenant := handlers.ScopeFunc(func(_ context.Context, c handlers.Caller) (string, error) { return c.Headers.Get("X-Tenant"), nil })
	user := handlers.RequestScope(func(r *http.Request) (string, error) { return r.Header.Get("X-User"), nil })
	protected := handlers.Middleware(newExecutor(t, memory.New(0), nil), handlers.FirstOf(tenant, user), nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "for tenant ", r.Header.Get("X-Tenant"), ", user ", r.Header.Get("X-User"))
	}))
	for _, name := range []string{"X-Tenant", "X-User"} {
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set("Idempotency-Key", "k")
		r.Header.Set(name, "ada")
		w := httptest.NewRecorder()
		protected.ServeHTTP(w, r)
		if w.Header().Get("Idempotent-Replayed") != "" {
			t.Errorf("%s ada gets the answer %q", name, w.Body)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("two functions in FirstOf are taken")
		}
	}()
	handlers.FirstOf(tenant, tenant)
}

// A function's error is the call's, whatever its type.
func TestErrorsOfAScopeFunc(t *testing.T) {
	reused := &idempotent.KeyReusedError{KeyHash: "another call's"}
	scope := handlers.ScopeFunc(func(context.Context, handlers.Caller) (string, error) { return "", reused })
	handler := handlers.APIGatewayV2(newExecutor(t, memory.New(0), nil), scope, func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		t.Error("ran")
		return events.APIGatewayV2HTTPResponse{}, nil
	}, nil)
	e := events.APIGatewayV2HTTPRequest{Headers: map[string]string{"idempotency-key": "k"}}
	e.RequestContext.HTTP.Method = "POST"
	if answer, err := handler(t.Context(), e); err != error(reused) {
		t.Errorf("%+v, %v", answer, err)
	}
}

// An HTTP API has the cookies apart from the headers.
func TestScopeFuncSeesCookies(t *testing.T) {
	seen := ""
	scope := handlers.ScopeFunc(func(_ context.Context, c handlers.Caller) (string, error) {
		seen = c.Headers.Get("Cookie")
		return seen, nil
	})
	handler := handlers.APIGatewayV2(newExecutor(t, memory.New(0), nil), scope, func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		return events.APIGatewayV2HTTPResponse{StatusCode: 200}, nil
	}, nil)
	e := events.APIGatewayV2HTTPRequest{Headers: map[string]string{"idempotency-key": "k"}, Cookies: []string{"session=a", "b=c"}}
	e.RequestContext.HTTP.Method = "POST"
	if answer, err := handler(t.Context(), e); err != nil || answer.StatusCode != 200 || seen != "session=a; b=c" {
		t.Errorf("%+v, %v, saw %q", answer, err, seen)
	}
}

// What a person or another trigger has stored is no answer.
func TestForeignRecordIsNoAnswer(t *testing.T) {
	for _, data := range []string{`{"statusCode":201,"body":"{}"}`, `{"id":"p1"}`, `null`, `{"status":99}`, `{"status":150}`, `{"status":600}`, `[]`} {
		store := &hooked{Store: memory.New(0)}
		protected, _ := serveHTTP(t, newExecutor(t, store, &idempotent.Config{MaxAttempts: 1}), nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
		if _, _, err := post(t, protected, "k", ""); err != nil {
			t.Fatal(err)
		}
		store.plant(t, func(r *driver.Record) {
			r.Status, r.Data, r.Lease, r.Expires = driver.Completed, []byte(data), time.Time{}, time.Now().Add(time.Hour)
		})
		r, text, err := post(t, protected, "k", "")
		if err != nil {
			t.Errorf("%s: %v", data, err)
			continue
		}
		isProblem(t, httpReply{r.StatusCode, r.Header, text}, 500)
	}
}

// A status that was forgotten, and a method that is misspelt, are no reason to
// charge twice.
func TestCarelessHandlers(t *testing.T) {
	for _, test := range []struct {
		method string
		status int
	}{{"POST", 0}, {"Post", 201}, {"post", 201}} {
		runs := 0
		handler := handlers.APIGatewayV2(newExecutor(t, memory.New(0), nil), handlers.NoIdentity(), func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			runs++
			return events.APIGatewayV2HTTPResponse{StatusCode: test.status}, nil
		}, nil)
		for range 2 {
			e := events.APIGatewayV2HTTPRequest{Headers: map[string]string{"idempotency-key": "k"}}
			e.RequestContext.HTTP.Method = test.method
			if _, err := handler(t.Context(), e); err != nil {
				t.Error(err)
			}
		}
		if runs != 1 {
			t.Errorf("%+v: %d runs", test, runs)
		}
	}
}

// Step Functions go by the name that Lambda reports, the first time and again.
func TestInvokeKeepsErrorTypes(t *testing.T) {
	bank := newExecutor(t, memory.New(0), nil)
	charge := func(ctx context.Context) error {
		_, err := idempotent.Do(ctx, bank, idempotent.Key{ID: "i"}, func(context.Context) (int, error) { return 0, idempotent.Permanent(&declinedError{"51"}) })
		return err
	}
	if charge(t.Context()) == nil {
		t.Fatal("not declined")
	}
	for name, test := range map[string]struct {
		fails func(context.Context) error
		want  string
	}{
		"named by the handler": {func(context.Context) error {
			return idempotent.Permanent(messages.InvokeResponse_Error{Type: "CardDeclined", Message: "no"})
		}, "CardDeclined"},
		"of a call within": {func(ctx context.Context) error { return idempotent.Permanent(charge(ctx)) }, "declinedError"},
	} {
		handler := handlers.Invoke(newExecutor(t, memory.New(0), nil), idempotent.Field(func(s string) string { return s }), func(ctx context.Context, _ string) (string, error) {
			return "", test.fails(ctx)
		})
		for _, which := range []string{"first", "again"} {
			_, err := handler(t.Context(), "k")
			if e, ok := errors.AsType[messages.InvokeResponse_Error](err); !ok || e.Type != test.want {
				t.Errorf("%s, %s: %#v", name, which, err)
			}
		}
	}
}

// A nil pointer in an error is the handler's mistake, and no panic of ours.
func TestHTTPTypedNil(t *testing.T) {
	for name, e := range map[string]error{"replayed": (*idempotent.ReplayedError)(nil), "store": (*idempotent.StoreError)(nil), "another": (*url.Error)(nil)} {
		handler := handlers.APIGatewayV2(newExecutor(t, unreleasable{memory.New(0)}, nil), handlers.NoIdentity(), func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			return events.APIGatewayV2HTTPResponse{}, e
		}, nil)
		request := events.APIGatewayV2HTTPRequest{Headers: map[string]string{"idempotency-key": "k"}}
		request.RequestContext.HTTP.Method = "POST"
		if _, err := handler(t.Context(), request); err != e {
			t.Errorf("%s: %T", name, err)
		}
	}
}

// Messages without a key are not one.
func TestKeylessMessagesAreNoTwins(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
	var running atomic.Int64
	together := make(chan struct{})
	handler := handlers.SQS(x, func(handlers.SQSMessage[string]) (idempotent.Key, error) { return idempotent.Key{}, nil }, func(ctx context.Context, _ handlers.SQSMessage[string]) error {
		if running.Add(1) == 2 {
			close(together)
		}
		select {
		case <-together:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, &handlers.SQSOptions{Concurrency: 2, OnFailure: quiet})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	answer, err := deliver(ctx, handler, sqsEvent(t, message("m0", order{}), message("m1", order{})))
	if err != nil || len(reportedIDs(t, answer)) != 0 {
		t.Errorf("%s, %v", answer, err)
	}
}

// strict is a body whose decoder fails with an error that means something else
// elsewhere.
type strict struct{}

func (*strict) UnmarshalJSON([]byte) error { return &idempotent.MissingKeyError{Part: "id"} }

func TestDecodersErrorIsNoMissingKey(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
	handler := handlers.SQS(x, nil, func(context.Context, handlers.SQSMessage[strict]) error { t.Error("ran"); return nil }, &handlers.SQSOptions{OnFailure: quiet})
	if answer, err := deliver(t.Context(), handler, sqsEvent(t, message("m0", order{}))); err != nil || len(reportedIDs(t, answer)) != 1 {
		t.Errorf("%s, %v", answer, err)
	}
}

func TestNullIsNoEnvelope(t *testing.T) {
	failures := &kept{}
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SQSMessage[*handlers.FromSNS[string]]) error {
		t.Error("ran")
		return nil
	}, &handlers.SQSOptions{OnFailure: failures.keep})
	m := message("m0", order{})
	m.Body = "null"
	if answer, err := deliver(t.Context(), handler, sqsEvent(t, m)); err != nil || len(reportedIDs(t, answer)) != 1 || !errors.Is(failures.failed[0], handlers.ErrDecode) {
		t.Errorf("%s, %v, told of %v", answer, err, failures.failed)
	}
}
