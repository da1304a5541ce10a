package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// callV2 sends a request to a handler that responds with who.
func callV2(t *testing.T, x *idempotent.Executor, scope httpapi.Scope, claims map[string]string, who string) v2Response {
	t.Helper()
	answer, err := postV2(t, x, scope, nil, v2Response{StatusCode: 201, Body: who}, nil, func(e *v2Request) {
		if claims != nil {
			e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: claims}}
		}
	})
	check.Must(t, err)
	return answer
}

// All users of an identity pool sign as one role, with one session name.
func TestIAMUserRefusesUsersOfAnIdentityPool(t *testing.T) {
	const arn = "arn:aws:sts::123456789012:assumed-role/Cognito_Auth_Role/CognitoIdentityCredentials"
	x := newExecutor(t, memory.New(0), nil)
	for name, test := range map[string]struct {
		scope httpapi.Scope
		want  int
	}{
		"refused":             {httpapi.IAMUser(), 403},
		"not replaced":        {httpapi.FirstOf(httpapi.IAMUser(), httpapi.NoIdentity()), 403},
		"by their identities": {httpapi.CognitoIdentity(), 201},
	} {
		handler := httpapi.APIGateway(x, test.scope, func(_ context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
			return events.APIGatewayProxyResponse{StatusCode: 201, Body: e.RequestContext.Identity.CognitoIdentityID}, nil
		}, nil)
		for _, user := range []string{"ada", "bob"} {
			e := events.APIGatewayProxyRequest{HTTPMethod: "POST", Headers: map[string]string{"Idempotency-Key": "1"}}
			e.RequestContext.Identity.UserArn, e.RequestContext.Identity.CognitoIdentityID = arn, user
			answer, err := handler(t.Context(), e)
			check.Nil(t, err, name)
			check.Equal(t, answer.StatusCode, test.want, name)
			if test.want == 201 && answer.Body != user {
				t.Errorf("%s: %s gets %+v, %v", name, user, answer, err)
			}
		}
	}
}

// A caller with a JWT that lacks the claim is not anonymous.
func TestJWTWithoutTheClaimIsRefused(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	scope := httpapi.FirstOf(httpapi.JWTClaim("sub"), httpapi.NoIdentity())
	check.Equal(t, callV2(t, x, scope, map[string]string{"client_id": "acme"}, "acme").StatusCode, 403)
	check.Equal(t, callV2(t, x, scope, nil, "nobody").Body, "nobody", "without a JWT")
}

// A subject is unique to its issuer.
func TestJWTSubjectIncludesTheIssuer(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	for _, issuer := range []string{"a", "b"} {
		check.Equal(t, callV2(t, x, httpapi.JWTSubject(), map[string]string{"iss": issuer, "sub": "1"}, issuer).Body, issuer)
	}
	check.Equal(t, callV2(t, x, httpapi.JWTSubject(), map[string]string{"sub": "1"}, "c").StatusCode, 403, "without issuer")
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
}

// A function's error is the call's, whatever its type.
func TestScopeFuncErrorIsReturned(t *testing.T) {
	reused := &idempotent.KeyReusedError{KeyHash: "another call's"}
	scope := httpapi.ScopeFunc(func(context.Context, httpapi.Caller) (string, error) { return "", reused })
	_, err := postV2(t, newExecutor(t, memory.New(0), nil), scope, nil, v2Response{StatusCode: 201}, nil)
	check.Equal(t, err, error(reused))
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
