package tools

import (
	"context"
	"errors"
	"net/http"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// Scope identifies the owner of a key: two callers that use the same key never share a
// result. It has no default, because a wrong one would show a customer's result to
// another one. [NoIdentity] states that all callers share their keys. A call without a
// scope is refused before the tool runs.
//
// Doors that return the same scope for a caller share its records.
type Scope struct {
	find func(Caller) (string, error)
}

// NoIdentity states that all callers share their keys, as when there is only one. A
// caller that uses another's key, or the same arguments, receives the other's result.
func NoIdentity() Scope {
	return Scope{func(Caller) (string, error) { return "", nil }}
}

// ScopeFunc identifies a caller by the result of find, which is "" for an unknown one.
// It is called for repetitions too, and by many calls at once. Do not return the id of a
// connection or a session that a repetition does not have. An error that matches
// [idempotent.ErrMissingKey] is an unknown caller; any other one fails the call.
func ScopeFunc(find func(Caller) (string, error)) Scope {
	var mistakes driver.Mistakes
	mistakes.If(find == nil, "tools: ScopeFunc: the function is nil")
	mistakes.Panic()
	return Scope{func(c Caller) (string, error) {
		scope, err := find(c)
		if errors.Is(err, idempotent.ErrMissingKey) || err == nil && scope == "" {
			err = &idempotent.MissingKeyError{Part: "scope"}
		}
		return scope, err
	}}
}

// A Caller has the facts that a door knows about a caller. Fields of other doors are empty.
type Caller struct {
	// Claims are the claims of a JWT that an authorizer of API Gateway has verified.
	Claims map[string]string
	// Authorizer is the context of a Lambda authorizer of API Gateway. Its numbers are
	// float64s, which may be rounded: use texts as identities.
	Authorizer map[string]any
	// UserARN is the user whose signature IAM has verified, at a function URL or API
	// Gateway. That of an assumed role ends with the name of its session.
	UserARN string
	// Header are the client's headers, which prove nothing by themselves. At a gateway
	// they are those that its target propagates.
	Header http.Header

	// GatewayID and TargetID are those of AgentCore Gateway, which has authorized the
	// caller, and does not say who it is.
	GatewayID, TargetID string

	// AgentID and AgentAlias are those of an agent of Amazon Bedrock, and SessionID that
	// of its conversation.
	AgentID, AgentAlias, SessionID string
	// SessionAttributes and PromptAttributes come from the application that calls the
	// agent.
	SessionAttributes, PromptAttributes map[string]string
}

type callerKey struct{}

// in returns the context of the tool.
func (r *request) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, callerKey{}, r.caller)
}

// CallerOf returns the caller of the tool that ctx belongs to, or the zero Caller. A tool
// decides by it what the caller may do: a [Scope] only separates keys.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}
