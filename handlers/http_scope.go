package handlers

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/lambda-once/once/idempotent"
)

// Scope says whose a key is: two callers that send the same key never share an
// answer. It has no default, since the wrong one shows one tenant's answer to
// another; that all callers share their keys has to be said, with [NoIdentity].
//
// A request in which the scope finds nothing is refused with 403, and nothing
// is run. So is one whose caller has a value that cannot be told from others:
// the numbers of a Lambda authorizer arrive as float64s, of which only whole
// ones below 2^53 are exact. Give identities as strings.
//
// Scopes of different kinds never meet: the Key.Scope starts with the kind, as
// in claim["sub"]=ada, and is empty for NoIdentity alone.
//
// Functions are called by many requests at once.
//
// An adapter panics when it is made with a scope that none of its requests can
// have, as a JWT claim at a load balancer, and with the zero Scope.
type Scope struct {
	name    string // of its constructor
	sources httpSource
	find    func(ctx context.Context, r *httpRequest) (scope string, ok bool, err error)
}

// httpSource is a set of adapters.
type httpSource uint8

const (
	sourceAPIGatewayV2 httpSource = 1 << iota
	sourceAPIGateway
	sourceALB
	sourceFunctionURL
	sourceMiddleware

	sourceLambda = sourceMiddleware - 1
	sourceAny    = sourceLambda | sourceMiddleware
)

// Caller is what a request tells of its caller. What an adapter does not have
// is empty.
type Caller struct {
	// Claims of a JWT that API Gateway has checked: authorizer.jwt.claims of
	// an HTTP API, authorizer.claims (Cognito) of a REST API.
	Claims map[string]any
	// Authorizer is the context that a Lambda authorizer gave: authorizer
	// .lambda of an HTTP API, authorizer of a REST API. Numbers are float64s.
	Authorizer map[string]any
	// UserARN is whose signature IAM has checked.
	UserARN string
	// CognitoIdentityID is that of an identity pool.
	CognitoIdentityID string
	// APIKeyID is the id, not the secret, of a REST API's key.
	APIKeyID string
	// Headers are the client's, and prove nothing by themselves: the
	// x-amzn-oidc-data of a load balancer is a JWT whose signature has to be
	// verified. Names are canonical, as in http.Header.
	Headers http.Header
}

// NoIdentity states that all callers share their keys, as where there is but
// one caller. Whoever sends another's key gets the other's answer.
func NoIdentity() Scope {
	return Scope{"NoIdentity", sourceAny, func(context.Context, *httpRequest) (string, bool, error) { return "", true, nil }}
}

// JWTClaim is a claim of the JWT that an authorizer of an HTTP API, or the
// Cognito authorizer of a REST API, has checked, such as "sub". A subject is
// its issuer's own: where several are trusted, take [JWTSubject].
//
// A caller with a JWT that lacks the claim is refused. [FirstOf] passes over
// it only where there is no JWT at all.
func JWTClaim(name string) Scope {
	claim := field("JWTClaim", sourceAPIGatewayV2|sourceAPIGateway, "claim["+strconv.Quote(name)+"]",
		func(c *Caller) any { return c.Claims[name] })
	find := claim.find
	claim.find = func(ctx context.Context, r *httpRequest) (string, bool, error) {
		scope, ok, err := find(ctx, r)
		if !ok && err == nil && len(r.caller.Claims) > 0 {
			err = &idempotent.MissingKeyError{Part: "scope"}
		}
		return scope, ok, err
	}
	return claim
}

// JWTSubject is the issuer and the subject of a JWT, its claims iss and sub.
func JWTSubject() Scope { return AllOf(JWTClaim("iss"), JWTClaim("sub")) }

// AllOf is several scopes as one. A request has to have each.
func AllOf(scopes ...Scope) Scope {
	all := Scope{name: "AllOf", sources: sourceAny}
	for _, s := range scopes {
		all.sources &= s.sources
	}
	if len(scopes) == 0 || all.sources == 0 {
		panic("handlers: AllOf: there is no adapter that could have each of the scopes")
	}
	all.find = func(ctx context.Context, r *httpRequest) (string, bool, error) {
		var parts []string
		for _, s := range scopes {
			scope, ok, err := s.find(ctx, r)
			if !ok || err != nil {
				return "", false, err
			}
			parts = append(parts, strconv.Quote(scope)) // or one could end where another begins
		}
		return strings.Join(parts, "+"), true, nil
	}
	return all
}

// AuthorizerField is a field of the context that a Lambda authorizer of an
// HTTP or REST API gave, such as "tenantId".
func AuthorizerField(name string) Scope {
	return field("AuthorizerField", sourceAPIGatewayV2|sourceAPIGateway, "authorizer["+strconv.Quote(name)+"]",
		func(c *Caller) any { return c.Authorizer[name] })
}

// IAMUser is the ARN of the user whose signature IAM has checked, at API
// Gateway or a function URL. That of an assumed role ends with the name of the
// session: a caller that repeats a request in another session, as another
// instance of a service does, is another caller. For these, take what they
// have in common with [ScopeFunc].
//
// All users of a Cognito identity pool sign as one role with one session name.
// They are refused: take [CognitoIdentity].
func IAMUser() Scope {
	iam := field("IAMUser", sourceAPIGatewayV2|sourceAPIGateway|sourceFunctionURL, "iam", func(c *Caller) any { return c.UserARN })
	find := iam.find
	iam.find = func(ctx context.Context, r *httpRequest) (string, bool, error) {
		if strings.HasSuffix(r.caller.UserARN, "/CognitoIdentityCredentials") || r.caller.CognitoIdentityID != "" && r.caller.UserARN != "" {
			return "", false, &idempotent.InvalidKeyError{Part: "Scope", Reason: "is that of all users of an identity pool"}
		}
		return find(ctx, r)
	}
	return iam
}

// CognitoIdentity is the id that an identity pool gave a caller of API Gateway.
func CognitoIdentity() Scope {
	return field("CognitoIdentity", sourceAPIGatewayV2|sourceAPIGateway, "cognito", func(c *Caller) any { return c.CognitoIdentityID })
}

// APIKey is the id of the key with which a REST API was called.
func APIKey() Scope {
	return field("APIKey", sourceAPIGateway, "apikey", func(c *Caller) any { return c.APIKeyID })
}

// Tenant is the tenant id of a Lambda function in tenant isolation mode.
func Tenant() Scope {
	return Scope{"Tenant", sourceLambda, func(ctx context.Context, _ *httpRequest) (string, bool, error) {
		if lc, ok := lambdacontext.FromContext(ctx); ok && lc.TenantID != "" {
			return "tenant=" + lc.TenantID, true, nil
		}
		return "", false, nil
	}}
}

// ScopeFunc finds the caller with a function; "" is none. It is called before
// the handler, also for requests that turn out to be repetitions. An error is
// the call's; an idempotent.ErrMissingKey is answered 403.
func ScopeFunc(find func(context.Context, Caller) (string, error)) Scope {
	return function("ScopeFunc", "func", sourceAny, find != nil, func(ctx context.Context, r *httpRequest) (string, error) { return find(ctx, r.caller) })
}

// RequestScope finds the caller of a request to [Middleware] with a function,
// as from the context that an authenticating middleware around it has filled.
// It must not read the body. Otherwise it is as [ScopeFunc].
func RequestScope(find func(*http.Request) (string, error)) Scope {
	return function("RequestScope", "request", sourceMiddleware, find != nil, func(_ context.Context, r *httpRequest) (string, error) { return find(r.native) })
}

// FirstOf is the first of some scopes that a request has. A value that cannot
// be used is refused, not passed over.
func FirstOf(scopes ...Scope) Scope {
	first := Scope{name: "FirstOf", sources: sourceAny}
	functions := map[string]bool{}
	for i, s := range scopes {
		if s.name == "NoIdentity" && i < len(scopes)-1 {
			panic("handlers: FirstOf: no request gets to what follows NoIdentity")
		}
		if s.name == "ScopeFunc" || s.name == "RequestScope" {
			if functions[s.name] {
				panic("handlers: FirstOf: two of " + s.name + " could find the same text for two callers: make one function of them")
			}
			functions[s.name] = true
		}
		first.sources &= s.sources
	}
	if len(scopes) == 0 || first.sources == 0 {
		panic("handlers: FirstOf: there is no adapter that could have each of the scopes")
	}
	first.find = func(ctx context.Context, r *httpRequest) (string, bool, error) {
		for _, s := range scopes {
			if scope, ok, err := s.find(ctx, r); ok || err != nil {
				return scope, ok, err
			}
		}
		return "", false, nil
	}
	return first
}

func field(name string, sources httpSource, prefix string, get func(*Caller) any) Scope {
	return Scope{name, sources, func(_ context.Context, r *httpRequest) (string, bool, error) {
		text, err := identityText(get(&r.caller))
		return prefix + "=" + text, text != "", err
	}}
}

func function(name, prefix string, sources httpSource, ok bool, find func(context.Context, *httpRequest) (string, error)) Scope {
	if !ok {
		panic("handlers: " + name + ": the function is nil")
	}
	return Scope{name, sources, func(ctx context.Context, r *httpRequest) (string, bool, error) {
		text, err := find(ctx, r)
		if errors.Is(err, idempotent.ErrMissingKey) {
			return "", false, nil
		}
		if err != nil {
			return "", false, &functionError{err}
		}
		return prefix + "=" + text, text != "", nil
	}}
}

// functionError tells an error of the user's function from one of ours, until
// it is given to the core.
type functionError struct{ err error }

func (e *functionError) Error() string { return e.err.Error() }
func (e *functionError) Unwrap() error { return e.err }

// identityText refuses numbers that may have been others before they became
// float64s.
func identityText(value any) (string, error) {
	const exact = 1<<53 - 1
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= exact {
			return strconv.FormatInt(int64(v), 10), nil
		}
	}
	return "", &idempotent.InvalidKeyError{Part: "Scope", Reason: "is neither a text nor an exact number"}
}

// requireFor panics where an adapter could never find the scope.
func (s Scope) requireFor(adapter string, source httpSource) {
	switch {
	case s.find == nil:
		panic("handlers: " + adapter + ": there is no Scope; NoIdentity() says that all callers share their keys")
	case s.sources&source == 0:
		panic("handlers: " + adapter + ": its requests never have the scope " + s.name)
	}
}

// of gives the Key.Scope of a request.
func (s Scope) of(ctx context.Context, r *httpRequest) (string, error) {
	scope, ok, err := s.find(ctx, r)
	switch {
	case err != nil:
		return "", err
	case !ok:
		return "", &idempotent.MissingKeyError{Part: "scope"}
	}
	return scope, nil
}
