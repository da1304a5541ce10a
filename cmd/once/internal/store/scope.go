package store

import (
	"errors"
	"flag"
	"strconv"
	"strings"
)

// scopeFlags say whose the idempotency key is. The kinds of scope of package
// handlers each have a form, which is part of the record's id.
type scopeFlags struct {
	verbatim string
	parts    []string // in the order of the flags, as that of httpapi.AllOf
}

func (s *scopeFlags) add(f *flag.FlagSet) {
	f.StringVar(&s.verbatim, "scope", "", "the `text` of Key.Scope, as it is; needs --operation. For a scope of package handlers give --jwt, --authorizer, --iam, --cognito, --api-key, --tenant, --scope-func or --request-scope; several are its AllOf, in their order")
	for _, kind := range []struct {
		flag, prefix, usage string
		add                 func(prefix, value string) error
	}{
		{"iam", "iam", "httpapi.IAMUser: the caller's `ARN`", s.part},
		{"cognito", "cognito", "httpapi.CognitoIdentity: the `id` of the identity", s.part},
		{"api-key", "apikey", "httpapi.APIKey: the `id` of the key", s.part},
		{"tenant", "tenant", "httpapi.Tenant: the `id` of the tenant", s.part},
		{"scope-func", "func", "httpapi.ScopeFunc: the `text` that the function returns", s.part},
		{"request-scope", "request", "httpapi.RequestScope: the `text` that the function returns", s.part},
		{"jwt", "claim", "httpapi.JWTClaim: the claim's `name=value`, as sub=ada; for JWTSubject give iss and sub, in this order", s.field},
		{"authorizer", "authorizer", "httpapi.AuthorizerField: the field's `name=value`", s.field},
	} {
		f.Func(kind.flag, kind.usage, func(value string) error { return kind.add(kind.prefix, value) })
	}
}

func (s *scopeFlags) field(prefix, pair string) error {
	name, value, ok := strings.Cut(pair, "=")
	if !ok || name == "" {
		return errors.New("it is not name=value")
	}
	return s.part(prefix+"["+strconv.Quote(name)+"]", value)
}

func (s *scopeFlags) part(prefix, value string) error {
	if value == "" {
		return errors.New("it is empty; is a variable unset?")
	}
	s.parts = append(s.parts, prefix+"="+value)
	return nil
}

// text is the Key.Scope, and whether one was given.
func (s *scopeFlags) text() (string, bool) {
	switch len(s.parts) {
	case 0:
		return s.verbatim, s.verbatim != ""
	case 1:
		return s.parts[0], true
	}
	quoted := make([]string, len(s.parts))
	for i, part := range s.parts {
		quoted[i] = strconv.Quote(part)
	}
	return strings.Join(quoted, "+"), true
}

func (s *scopeFlags) hint() string {
	if s.verbatim == "" {
		return ""
	}
	return "; the scope of an HTTP caller has a kind: give --jwt sub=" + s.verbatim + ", or another of the flags beside --jwt"
}
