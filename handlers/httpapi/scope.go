package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// Scope identifies the owner of a key: two callers that send the same key never
// share a response. It has no default, because a wrong one would show a
// tenant's response to strangers. [NoIdentity] states that all callers share their
// keys.
//
// A request in which the scope finds nothing is refused with 403 before the
// handler runs. So is a request whose caller is not identified exactly: the
// numbers of a Lambda authorizer arrive as float64s, and only integers below
// 2^53 are exact. Use strings as identities.
//
// Scopes of different kinds never collide: the Key.Scope begins with the kind,
// as in claim["sub"]=ada, and is empty for NoIdentity alone.
//
// The functions of a scope are called by many requests at once.
//
// An adapter panics with a [*driver.ConfigError] when it is made with the zero Scope,
// or with a scope that none of its requests can have, as a JWT claim at a load
// balancer.
type Scope struct {
	name    string // of its constructor
	sources source
	find    func(ctx context.Context, r *incoming) (scope string, ok bool, err error)
	choices []Scope // of FirstOf
}

// source is a set of adapters.
type source uint8

const (
	sourceAPIGatewayV2 source = 1 << iota
	sourceAPIGateway
	sourceALB
	sourceFunctionURL
	sourceMiddleware

	sourceLambda = sourceMiddleware - 1
	sourceAny    = sourceLambda | sourceMiddleware
)

// NoIdentity states that all callers share their keys, as when there is only one
// caller. A caller that sends another's key receives the other's response.
func NoIdentity() Scope {
	return Scope{name: "NoIdentity", sources: sourceAny, find: func(context.Context, *incoming) (string, bool, error) { return "", true, nil }}
}

// JWTClaim identifies a caller by a claim, such as "sub", of the JWT that an
// authorizer of an HTTP API, or the Cognito authorizer of a REST API, has
// verified. A subject is unique to its issuer: if several issuers are trusted,
// use [JWTSubject].
//
// A caller with a JWT that lacks the claim is refused: [FirstOf] tries its next
// scope only for a request without a JWT.
func JWTClaim(name string) Scope {
	requireName("JWTClaim", name)
	return field("JWTClaim", sourceAPIGatewayV2|sourceAPIGateway, "claim["+strconv.Quote(name)+"]",
		func(c *Caller) any { return c.Claims[name] },
		func(c *Caller, claim string) error {
			if claim == "" && len(c.Claims) > 0 {
				return &idempotent.MissingKeyError{Part: "scope"}
			}
			return nil
		})
}

// JWTSubject identifies a caller by issuer and subject of a JWT, its claims iss
// and sub.
func JWTSubject() Scope { return AllOf(JWTClaim("iss"), JWTClaim("sub")) }

// AllOf combines several scopes. A request must have each of them.
func AllOf(scopes ...Scope) Scope {
	return Scope{name: "AllOf", sources: sourcesOf("AllOf", scopes, nil), find: func(ctx context.Context, r *incoming) (string, bool, error) {
		var parts []string
		for _, s := range scopes {
			scope, ok, err := s.find(ctx, r)
			if !ok || err != nil {
				return "", false, err
			}
			parts = append(parts, strconv.Quote(scope)) // else "a"+"bc" would be "ab"+"c"
		}
		return strings.Join(parts, "+"), true, nil
	}}
}

// AuthorizerField identifies a caller by a field, such as "tenantId", of the
// context that a Lambda authorizer of an HTTP or REST API returned.
func AuthorizerField(name string) Scope {
	requireName("AuthorizerField", name)
	return field("AuthorizerField", sourceAPIGatewayV2|sourceAPIGateway, "authorizer["+strconv.Quote(name)+"]",
		func(c *Caller) any { return c.Authorizer[name] }, nil)
}

// IAMUser identifies a caller by the ARN of the user whose signature IAM has
// verified, at API Gateway or a function URL. The ARN of an assumed role ends
// with the name of the session: a caller that repeats a request in a new
// session, as a second instance of a service does, counts as a new caller. For such
// callers, return the common part of their ARNs from a [ScopeFunc].
//
// All users of a Cognito identity pool sign as one role with one session name.
// IAMUser refuses them: use [CognitoIdentity].
func IAMUser() Scope {
	return field("IAMUser", sourceAPIGatewayV2|sourceAPIGateway|sourceFunctionURL, "iam",
		func(c *Caller) any { return c.UserARN },
		func(c *Caller, arn string) error {
			if strings.HasSuffix(arn, "/CognitoIdentityCredentials") || c.CognitoIdentityID != "" && arn != "" {
				return &idempotent.InvalidKeyError{Part: "Scope", Reason: "is the same for all users of an identity pool"}
			}
			return nil
		})
}

// CognitoIdentity identifies a caller of API Gateway by its id in an identity
// pool.
func CognitoIdentity() Scope {
	return field("CognitoIdentity", sourceAPIGatewayV2|sourceAPIGateway, "cognito", func(c *Caller) any { return c.CognitoIdentityID }, nil)
}

// APIKey identifies a caller by the id of the key of a REST API.
func APIKey() Scope {
	return field("APIKey", sourceAPIGateway, "apikey", func(c *Caller) any { return c.APIKeyID }, nil)
}

// Tenant identifies a caller by the tenant id of a Lambda function in tenant
// isolation mode.
func Tenant() Scope {
	return Scope{name: "Tenant", sources: sourceLambda, find: func(ctx context.Context, _ *incoming) (string, bool, error) {
		if lc, ok := lambdacontext.FromContext(ctx); ok && lc.TenantID != "" {
			return "tenant=" + lc.TenantID, true, nil
		}
		return "", false, nil
	}}
}

// ScopeFunc identifies a caller by the result of find, which is "" for an unknown
// caller. find is called before the handler, and also for repetitions. Its error
// is the call's; an idempotent.ErrMissingKey becomes a 403.
func ScopeFunc(find func(context.Context, Caller) (string, error)) Scope {
	return function("ScopeFunc", "func", sourceAny, find != nil, func(ctx context.Context, r *incoming) (string, error) { return find(ctx, r.caller) })
}

// RequestScope identifies the caller of a request to [Middleware] by the result
// of find, which may read the context that an authenticating middleware around
// it has set. find must not read the body. Everything else is as in [ScopeFunc].
func RequestScope(find func(*http.Request) (string, error)) Scope {
	return function("RequestScope", "request", sourceMiddleware, find != nil, func(_ context.Context, r *incoming) (string, error) { return find(r.native) })
}

// FirstOf identifies a caller by the first of several scopes that a request has.
// It refuses an invalid value, and does not try the next scope.
func FirstOf(scopes ...Scope) Scope {
	var choices []Scope // those of a FirstOf among scopes too
	for _, s := range scopes {
		if s.choices == nil {
			s.choices = []Scope{s}
		}
		choices = append(choices, s.choices...)
	}
	var mistakes driver.Mistakes
	for i, s := range choices {
		mistakes.If(s.name == "NoIdentity" && i < len(choices)-1, "httpapi: FirstOf: no request reaches the scopes after NoIdentity")
		second := slices.ContainsFunc(choices[:i], func(first Scope) bool { return first.name == s.name })
		mistakes.If(second && (s.name == "ScopeFunc" || s.name == "RequestScope"), "httpapi: FirstOf: two of %s could return the same text for two callers: combine them in one function", s.name)
	}
	return Scope{name: "FirstOf", sources: sourcesOf("FirstOf", choices, mistakes), choices: choices, find: func(ctx context.Context, r *incoming) (string, bool, error) {
		for _, s := range choices {
			if scope, ok, err := s.find(ctx, r); ok || err != nil {
				return scope, ok, err
			}
		}
		return "", false, nil
	}}
}

// sourcesOf returns the adapters that support all of the scopes. It panics if
// there are none, and with the other mistakes.
func sourcesOf(name string, scopes []Scope, mistakes driver.Mistakes) source {
	sources := sourceAny
	for _, s := range scopes {
		sources &= s.sources
	}
	mistakes.If(len(scopes) == 0 || sources == 0, "httpapi: %s: no adapter supports all of the scopes", name)
	mistakes.Panic()
	return sources
}

// requireName refuses an empty name, as of a variable that is not set: every request
// would be refused with 403.
func requireName(scope, name string) {
	var mistakes driver.Mistakes
	mistakes.If(name == "", "httpapi: %s: the name is empty, which no caller has", scope)
	mistakes.Panic()
}

// field returns a scope of one field of the caller. check, if it is not nil,
// refuses callers by the text of the field.
func field(name string, sources source, prefix string, get func(*Caller) any, check func(c *Caller, text string) error) Scope {
	return Scope{name: name, sources: sources, find: func(_ context.Context, r *incoming) (string, bool, error) {
		text, err := identityText(get(&r.caller))
		if err == nil && check != nil {
			err = check(&r.caller, text)
		}
		return prefix + "=" + text, text != "", err
	}}
}

func function(name, prefix string, sources source, ok bool, find func(context.Context, *incoming) (string, error)) Scope {
	var mistakes driver.Mistakes
	mistakes.If(!ok, "httpapi: %s: the function is nil", name)
	mistakes.Panic()
	return Scope{name: name, sources: sources, find: func(ctx context.Context, r *incoming) (string, bool, error) {
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

// check refuses a scope that no request of an adapter can have.
func (s Scope) check(adapter string, source source, mistakes *driver.Mistakes) {
	mistakes.If(s.find == nil, "httpapi: %s: the Scope is missing; NoIdentity() states that all callers share their keys", adapter)
	mistakes.If(s.find != nil && s.sources&source == 0, "httpapi: %s: its requests never have the scope %s", adapter, s.name)
}

// of returns the Key.Scope of a request.
func (s Scope) of(ctx context.Context, r *incoming) (string, error) {
	scope, ok, err := s.find(ctx, r)
	if err == nil && !ok {
		err = &idempotent.MissingKeyError{Part: "scope"}
	}
	return scope, err
}
