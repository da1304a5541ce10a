package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// scopeCase is one scope at one adapter: requests of one caller share their
// keys, those of two do not, and those of none are refused.
type scopeCase struct {
	name  string
	scope httpapi.Scope
	send  func(t *testing.T, x *idempotent.Executor, s httpapi.Scope, identity string) int
	// identities as they stand in the event: two of callers, and some that
	// are refused.
	ada, eve string
	refused  []string
}

var scopeCases = []scopeCase{
	{"JWT claim, HTTP API", httpapi.JWTClaim("sub"), toV2, `{"jwt":{"claims":{"sub":"ada"}}}`, `{"jwt":{"claims":{"sub":"eve"}}}`,
		[]string{`null`, `{}`, `{"jwt":null}`, `{"jwt":{"claims":{}}}`, `{"jwt":{"claims":{"sub":""}}}`, `{"jwt":{"claims":{"Sub":"ada"}}}`, `{"lambda":{"sub":"ada"}}`}},
	// A caller with a JWT that lacks the claim is not anonymous.
	{"JWT claim or nobody", httpapi.FirstOf(httpapi.JWTClaim("sub"), httpapi.NoIdentity()), toV2, `{"jwt":{"claims":{"sub":"ada"}}}`, `null`, []string{`{"jwt":{"claims":{"client_id":"acme"}}}`}},
	// A subject is unique to its issuer.
	{"JWT subject", httpapi.JWTSubject(), toV2, `{"jwt":{"claims":{"iss":"a","sub":"1"}}}`, `{"jwt":{"claims":{"iss":"b","sub":"1"}}}`, []string{`{"jwt":{"claims":{"sub":"1"}}}`}},
	{"JWT claim, REST API", httpapi.JWTClaim("sub"), toREST, `"authorizer":{"claims":{"sub":"ada"}}`, `"authorizer":{"claims":{"sub":"eve"}}`,
		[]string{`"authorizer":null`, `"authorizer":{"claims":null}`, `"authorizer":{"claims":"sub"}`, `"authorizer":{"claims":{"sub":["ada"]}}`, `"authorizer":{"sub":"ada"}`}},
	{"Lambda authorizer, HTTP API", httpapi.AuthorizerField("tenant"), toV2, `{"lambda":{"tenant":"ada"}}`, `{"lambda":{"tenant":"eve"}}`,
		[]string{`{"lambda":null}`, `{"lambda":{"tenant":null}}`, `{"lambda":{"tenant":""}}`, `{"lambda":{"tenant":["ada"]}}`, `{"lambda":{"tenant":{"id":"ada"}}}`}},
	{"Lambda authorizer, REST API", httpapi.AuthorizerField("tenant"), toREST, `"authorizer":{"tenant":"ada"}`, `"authorizer":{"tenant":"eve"}`, []string{`"authorizer":{}`}},
	{"numbers that are exact", httpapi.AuthorizerField("tenant"), toV2, `{"lambda":{"tenant":9007199254740991}}`, `{"lambda":{"tenant":9007199254740990}}`,
		[]string{`{"lambda":{"tenant":9007199254740993}}`, `{"lambda":{"tenant":9007199254740992}}`, `{"lambda":{"tenant":-9007199254740993}}`, `{"lambda":{"tenant":0.1}}`, `{"lambda":{"tenant":1e300}}`}},
	{"booleans", httpapi.AuthorizerField("partner"), toV2, `{"lambda":{"partner":true}}`, `{"lambda":{"partner":false}}`, nil},
	{"IAM, HTTP API", httpapi.IAMUser(), toV2, `{"iam":{"userArn":"ada"}}`, `{"iam":{"userArn":"eve"}}`, []string{`{"iam":null}`, `{"iam":{}}`}},
	{"IAM, REST API", httpapi.IAMUser(), toREST, `"identity":{"userArn":"ada"}`, `"identity":{"userArn":"eve"}`, []string{`"identity":{}`, `"identity":null`, poolUser + `"ada"}`}},
	{"IAM or nobody, REST API", httpapi.FirstOf(httpapi.IAMUser(), httpapi.NoIdentity()), toREST, `"identity":{"userArn":"ada"}`, `"identity":{}`, []string{poolUser + `"ada"}`}},
	{"IAM, function URL", httpapi.IAMUser(), toURL, `{"iam":{"userArn":"ada"}}`, `{"iam":{"userArn":"eve"}}`, []string{`null`, `{"iam":null}`, `{"iam":{}}`}},
	{"identity pool, HTTP API", httpapi.CognitoIdentity(), toV2, `{"iam":{"cognitoIdentity":{"identityId":"ada"}}}`, `{"iam":{"cognitoIdentity":{"identityId":"eve"}}}`, []string{`{"iam":{"cognitoIdentity":null}}`}},
	{"identity pool, REST API", httpapi.CognitoIdentity(), toREST, poolUser + `"ada"}`, poolUser + `"eve"}`, []string{`"identity":{"userArn":"ada"}`}},
	{"API key", httpapi.APIKey(), toREST, `"identity":{"apiKeyId":"ada"}`, `"identity":{"apiKeyId":"eve"}`, []string{`"identity":{"apiKey":"ada"}`}},
	{"tenant", httpapi.Tenant(), toTenant, "ada", "eve", []string{"", "outside"}},
	{"function of a header", httpapi.ScopeFunc(byHeader), toALB, "ada", "eve", []string{"", "unknown", strings.Repeat("a", 2000)}},
	{"function of a request", httpapi.RequestScope(byRequest), toMiddleware, "ada", "eve", []string{"", "unknown"}},
	{"first of two", httpapi.FirstOf(httpapi.JWTClaim("sub"), httpapi.IAMUser()), toV2, `{"jwt":{"claims":{"sub":"same"}}}`, `{"iam":{"userArn":"same"}}`, []string{`{}`}},
	{"first of two, kinds of one name", httpapi.FirstOf(httpapi.JWTClaim("sub"), httpapi.AuthorizerField("sub")), toREST, `"authorizer":{"claims":{"sub":"same"}}`, `"authorizer":{"sub":"same"}`,
		[]string{`"authorizer":{"claims":{"sub":0.1},"sub":"same"}`}},
	{"first of an identity and none", httpapi.FirstOf(httpapi.AuthorizerField("tenant"), httpapi.NoIdentity()), toV2, `{"lambda":{"tenant":"ada"}}`, `{}`, []string{`{"lambda":{"tenant":0.1}}`}},
	{"names and values do not run into each other", httpapi.FirstOf(httpapi.AuthorizerField(`a"]=b`), httpapi.AuthorizerField("a")), toV2, `{"lambda":{"a\"]=b":"c"}}`, `{"lambda":{"a":"b\"]=c"}}`, nil},
}

// poolUser begins the identity of a user of an identity pool. All of them sign as one
// role, with one session name.
const poolUser = `"identity":{"userArn":"arn:aws:sts::123456789012:assumed-role/Cognito_Auth_Role/CognitoIdentityCredentials","cognitoIdentityId":`

func byHeader(_ context.Context, c httpapi.Caller) (string, error) {
	return named(c.Headers.Get("X-User"))
}

func byRequest(r *http.Request) (string, error) { return named(r.Header.Get("X-User")) }

func named(user string) (string, error) {
	if user == "unknown" {
		return "", fmt.Errorf("who is that: %w", idempotent.ErrMissingKey)
	}
	return user, nil
}

func TestHTTPScopes(t *testing.T) {
	for _, c := range scopeCases {
		t.Run(c.name, func(t *testing.T) {
			x := newExecutor(t, memory.New(0), nil)
			for i, step := range []struct {
				identity string
				want     int
			}{{c.ada, 201}, {c.eve, 201}, {c.ada, 200}, {c.eve, 200}} {
				check.Equal(t, c.send(t, x, c.scope, step.identity), step.want, i, step.identity)
			}
			for _, identity := range c.refused {
				check.Equal(t, c.send(t, x, c.scope, identity), 403, identity)
			}
		})
	}
}

// Two functions may return the same text for two callers.
func TestScopeFunctionsNeverCollide(t *testing.T) {
	tenant := httpapi.ScopeFunc(func(_ context.Context, c httpapi.Caller) (string, error) { return c.Headers.Get("X-Tenant"), nil })
	user := httpapi.RequestScope(func(r *http.Request) (string, error) { return r.Header.Get("X-User"), nil })
	protected := httpapi.Middleware(newExecutor(t, memory.New(0), nil), httpapi.FirstOf(tenant, user), nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "for tenant ", r.Header.Get("X-Tenant"), ", user ", r.Header.Get("X-User"))
	}))
	for _, name := range []string{"X-Tenant", "X-User"} {
		w := postKeyed(protected, func(r *http.Request) { r.Header.Set(name, "ada") })
		check.Equal(t, w.Header().Get("Idempotent-Replayed"), "", "ada gets the answer", name)
	}
	handlertest.CheckMistakes(t, func() { httpapi.FirstOf(tenant, tenant) }, "two of ScopeFunc")
	handlertest.CheckMistakes(t, func() { httpapi.FirstOf(tenant, httpapi.FirstOf(user, tenant)) }, "two of ScopeFunc")
}

// An HTTP API lists the cookies beside the headers.
func TestScopeFuncSeesCookies(t *testing.T) {
	seen := ""
	scope := httpapi.ScopeFunc(func(_ context.Context, c httpapi.Caller) (string, error) {
		seen = c.Headers.Get("Cookie")
		return seen, nil
	})
	answer, err := postV2(t, newExecutor(t, memory.New(0), nil), scope, nil, v2Response{StatusCode: 200}, nil, func(e *v2Request) {
		e.Cookies = []string{"session=a", "b=c"}
	})
	check.Nil(t, err)
	check.Equal(t, answer.StatusCode, 200)
	check.Equal(t, seen, "session=a; b=c")
}

func TestHTTPMistakesPanic(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	middleware := func(s httpapi.Scope, o *httpapi.Options) func() {
		return func() { httpapi.Middleware(x, s, o) }
	}
	options := func(o httpapi.Options) func() { return middleware(httpapi.NoIdentity(), &o) }
	alb := func(s httpapi.Scope) func() {
		return func() { toALB(t, x, s, "") }
	}
	url := func(s httpapi.Scope) func() {
		return func() { toURL(t, x, s, "null") }
	}
	for name, mistake := range map[string]func(){
		"no scope":                 middleware(httpapi.Scope{}, nil),
		"a JWT at a load balancer": alb(httpapi.JWTClaim("sub")),
		"among others":             alb(httpapi.FirstOf(httpapi.JWTClaim("sub"), httpapi.NoIdentity())),
		"IAM at a load balancer":   alb(httpapi.IAMUser()),
		"a request at Lambda":      alb(httpapi.RequestScope(byRequest)),
		"an API key at an URL":     url(httpapi.APIKey()),
		"an authorizer at an URL":  url(httpapi.AuthorizerField("tenant")),
		"a pool at an URL":         url(httpapi.CognitoIdentity()),
		"a tenant outside Lambda":  middleware(httpapi.Tenant(), nil),
		"a JWT outside Lambda":     middleware(httpapi.JWTClaim("sub"), nil),
		"nothing to choose from":   func() { httpapi.FirstOf() },
		"no place for both":        func() { httpapi.FirstOf(httpapi.Tenant(), httpapi.RequestScope(byRequest)) },
		"what is never reached":    func() { httpapi.FirstOf(httpapi.NoIdentity(), httpapi.Tenant()) },
		"the same, within":         func() { httpapi.FirstOf(httpapi.FirstOf(httpapi.Tenant(), httpapi.NoIdentity()), httpapi.Tenant()) },
		"no function":              func() { httpapi.ScopeFunc(nil) },
		"no function of a request": func() { httpapi.RequestScope(nil) },
		"no methods":               options(httpapi.Options{Methods: []string{}}),
		"too long keys":            options(httpapi.Options{MaxKeyBytes: 1025}),
	} {
		t.Run(name, func(t *testing.T) { handlertest.CheckMistakes(t, mistake, "httpapi: ") })
	}
	all := options(httpapi.Options{
		Documentation: "http://[::1", Header: "a b", Methods: []string{"GET", "post"}, MaxKeyBytes: -1,
		MaxRequestBytes: -1, MaxResponseBytes: -1, StoreHeaders: []string{"", "Ok", "a b"},
	})
	handlertest.CheckMistakes(t, all, "Documentation", ".Header", "StoreHeaders", "StoreHeaders", "MaxKeyBytes", "MaxRequestBytes", "MaxResponseBytes", "safe method GET", `"post"`)
	handlertest.CheckMistakes(t, func() { httpapi.JWTClaim("") }, "JWTClaim: the name is empty")
	handlertest.CheckMistakes(t, func() { httpapi.AuthorizerField("") }, "AuthorizerField: the name is empty")
	both := &httpapi.Options{Header: "X-Key", Key: httpapi.HeaderKey("X-Id")}
	handlertest.CheckMistakes(t, func() { httpapi.Middleware(newExecutor(t, memory.New(0), nil), httpapi.NoIdentity(), both) }, "no effect beside Options.Key")
	handlertest.CheckMistakes(t, func() { httpapi.ALB(nil, httpapi.IAMUser(), nil, nil) }, "the handler is nil", "the executor is nil", "IAMUser")
}

// sender returns a function that sends an event with an identity. It returns 201 for a
// request that ran, 200 for a replay, and the status of anything else.
func sender(on func(httpapi.Scope) func(*idempotent.Executor) lambda.Handler, event string) func(*testing.T, *idempotent.Executor, httpapi.Scope, string) int {
	return func(t *testing.T, x *idempotent.Executor, s httpapi.Scope, identity string) int {
		t.Helper()
		r := invoked(t, t.Context(), on(s)(x), fmt.Sprintf(event, identity))
		return outcome(r.status, r.headers)
	}
}

func outcome(status int, headers http.Header) int {
	if status == 201 && headers.Get("Idempotent-Replayed") == "true" {
		return 200
	}
	return status
}

const formatV2 = `{"headers":{"idempotency-key":"k"},"requestContext":{"http":{"method":"POST"},"authorizer":%s}}`

var (
	toV2   = sender(onV2, formatV2)
	toURL  = sender(onURL, formatV2)
	toREST = sender(onREST, `{"httpMethod":"POST","headers":{"Idempotency-Key":"k"},"requestContext":{%s}}`)
	toALB  = sender(onALB, `{"httpMethod":"POST","headers":{"idempotency-key":"k","x-user":"%s"}}`)
)

// toTenant sends an event of a tenant, or one outside of Lambda.
func toTenant(t *testing.T, x *idempotent.Executor, s httpapi.Scope, tenant string) int {
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{TenantID: tenant})
	if tenant == "outside" {
		ctx = t.Context()
	}
	r := invoked(t, ctx, onALB(s)(x), `{"httpMethod":"POST","headers":{"idempotency-key":"k"}}`)
	return outcome(r.status, r.headers)
}

func toMiddleware(t *testing.T, x *idempotent.Executor, s httpapi.Scope, user string) int {
	handler := httpapi.Middleware(x, s, nil)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201) }))
	w := postKeyed(handler, func(r *http.Request) { r.Header.Set("X-User", user) })
	return outcome(w.Code, w.Header())
}
