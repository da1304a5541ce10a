package tools

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
)

// A Tool is a function that models call, and that runs once for each key. It comes
// from [New].
type Tool struct {
	definition *mcp.Tool
	input      *jsonschema.Schema
	serve      func(context.Context, *request) answer
}

// request is one call of a tool, as a door received it.
type request struct {
	arguments json.RawMessage
	caller    Caller
	meta      any // of _meta: the client's key, or nil
	scope     Scope
}

// New declares a tool. The definition has its name and description. Its schemas are
// those of In and Out, which must be structs or maps, unless it has schemas of its own.
// The IdempotentHint is set, because it is true.
//
// key makes a key of the arguments that make two calls the same one, such as the number
// of an order. It is used for calls without an idempotency key of the client. A call that
// shall have an effect of its own needs another Key.ID: a model that repeats a call looks
// like one that wants a second effect. The function must not set Scope or Record. If it
// is nil, or finds no ID, only calls with the client's key run (see Config.OnMissingKey).
//
// So a client that sends a new key for a call that it repeats has a second effect. If the
// arguments name the effect, use [NewByArguments].
//
// All arguments are compared with those of the key's first use, and a call with others is
// refused. If the key function sets Payload or Fingerprint, that is compared instead:
// leave out what a model words differently each time, such as a reason.
//
// Arguments that do not fit the schema are refused before a record is claimed. Defaults
// in a schema are not filled in. Stored results keep the members that Out had, so a new
// member must be optional in its schema.
//
// New panics with a [*driver.ConfigError] if an argument is wrong.
func New[In, Out any](x *idempotent.Executor, definition *mcp.Tool, key func(In) (idempotent.Key, error), fn func(context.Context, In) (Out, error)) *Tool {
	return keyed(x, definition, (*request).sentKey, key, fn, nil)
}

// NewByArguments declares a tool of which the arguments alone make two calls the same
// one, whatever key a client sends: one refund a charge, also of clients that make a key
// for each request. Everything else is as in [New]; key must not be nil.
func NewByArguments[In, Out any](x *idempotent.Executor, definition *mcp.Tool, key func(In) (idempotent.Key, error), fn func(context.Context, In) (Out, error)) *Tool {
	var mistakes driver.Mistakes
	mistakes.If(key == nil, "tools: NewByArguments: the key function is nil")
	return keyed(x, definition, (*request).noSentKey, key, fn, mistakes)
}

// keyed returns a tool whose calls have the key that sentKey finds, or that key makes of
// the arguments.
func keyed[In, Out any](
	x *idempotent.Executor, definition *mcp.Tool, sentKey func(*request) (string, error),
	key func(In) (idempotent.Key, error), fn func(context.Context, In) (Out, error), mistakes driver.Mistakes,
) *Tool {
	mistakes.If(x == nil, "tools: New: the executor is nil")
	mistakes.If(x != nil && adapter.Resumes(x), "tools: New: Config.Resume is not for tools: the client repeats its call")
	t, schema := declare[In, Out](definition, fn == nil, mistakes)
	protected := idempotent.Wrap(x,
		func(c *call[In]) (idempotent.Key, error) { return c.identify(t.definition.Name, schema, sentKey, key) },
		func(ctx context.Context, c *call[In]) (json.RawMessage, error) {
			out, err := fn(ctx, c.in)
			if c.failed = err; err != nil {
				return nil, err
			}
			return encoded(out), nil
		})
	t.serve = func(ctx context.Context, r *request) answer {
		c := &call[In]{request: r}
		ctx, event := adapter.WithEvent(r.in(ctx))
		result, err := protected(ctx, c)
		a := answerOf(result, err, event, c.failed)
		if c.keyed {
			a.text = withKey.Replace(a.text)
		}
		return a
	}
	return t
}

// withKey names the client's key in a refusal.
var withKey = strings.NewReplacer(
	"the same arguments", "the same arguments and the same idempotency key",
	"send the arguments of that request", "send a new idempotency key",
)

// Read declares a tool without an effect, such as the status of work that another tool has
// started. It runs at each call, without a key and a record, and its ReadOnlyHint is set.
// An error's text does not reach the model. Everything else is as in [New].
func Read[In, Out any](definition *mcp.Tool, fn func(context.Context, In) (Out, error)) *Tool {
	t, schema := declare[In, Out](definition, fn == nil, nil)
	t.definition.Annotations.ReadOnlyHint = true
	t.serve = func(ctx context.Context, r *request) answer {
		c := &call[In]{request: r}
		if _, err := c.read(schema); err != nil {
			return refusal(err)
		}
		out, err := fn(r.in(ctx), c.in)
		if err != nil {
			return again(1, "The tool failed. Call it again.")
		}
		return answerOf(encoded(out), nil, nil, nil)
	}
	return t
}

// declare returns a tool that does not serve yet, and the schema of its arguments. It
// panics with the mistakes, and those that it finds.
func declare[In, Out any](definition *mcp.Tool, noFunction bool, mistakes driver.Mistakes) (*Tool, *jsonschema.Resolved) {
	mistakes.If(noFunction, "tools: New: the function is nil")
	mistakes.If(definition == nil || !names.MatchString(definition.Name), "tools: New: the tool needs a name of at most 128 letters, digits, dots, hyphens and underscores")
	mistakes.Panic()
	own := *definition
	input := schemaOf[In](own.InputSchema, "New: "+own.Name+": the input", &mistakes)
	output := schemaOf[Out](own.OutputSchema, "New: "+own.Name+": the result", &mistakes)
	mistakes.Panic()
	mistakes.If(own.OutputSchema == nil && isEmpty(output), "tools: New: %s: the result has no exported field, so a model could read nothing", own.Name)
	resolved, err := input.Resolve(nil)
	mistakes.If(err != nil, "tools: New: %s: the input schema cannot be used: %v", own.Name, err)
	mistakes.Panic()
	var annotations mcp.ToolAnnotations
	if own.Annotations != nil {
		annotations = *own.Annotations
	}
	annotations.IdempotentHint = true // of every tool of this package
	own.InputSchema, own.OutputSchema, own.Annotations = input, output, &annotations
	return &Tool{definition: &own, input: input}, resolved
}

// names are those that MCP takes. A slash separates one from the rest of a key.
var names = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// encoded returns the result as JSON. If it does not encode, the work is done all the
// same: an error would have it repeated. The text that is returned then does not encode
// either, so that the record is completed without a result.
func encoded(out any) json.RawMessage {
	text, err := json.Marshal(out)
	if err != nil {
		return json.RawMessage("?")
	}
	return text
}

// schemaOf returns the schema given, or that of T. The root must be an object: older
// clients take no other arguments and no other structured content.
func schemaOf[T any](given any, of string, mistakes *driver.Mistakes) *jsonschema.Schema {
	schema, ok := given.(*jsonschema.Schema)
	if given == nil {
		var err error
		schema, err = jsonschema.For[T](nil)
		mistakes.If(err != nil, "tools: %s has no schema: %v", of, err)
		ok = err == nil
	} else {
		mistakes.If(!ok, "tools: %s has a schema of type %T, which must be a *jsonschema.Schema", of, given)
	}
	mistakes.If(ok && schema.Type != "object", "tools: %s must be a struct or a map", of)
	return schema
}

// isEmpty reports whether no value of the schema has a member.
func isEmpty(s *jsonschema.Schema) bool {
	return len(s.Properties) == 0 && s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil
}

// named returns a function that returns a tool by its name. Its error is one of the
// gateway or the action group, which is configured with other tools.
func named(door string, scope Scope, tools []*Tool) func(name string) (*Tool, error) {
	var mistakes driver.Mistakes
	mistakes.If(scope.find == nil, "tools: %s: the Scope is missing; NoIdentity() states that all callers share their keys", door)
	mistakes.If(len(tools) == 0, "tools: %s: there are no tools", door)
	byName := make(map[string]*Tool, len(tools))
	for _, t := range tools {
		if t == nil || t.definition == nil {
			mistakes.Add("tools: %s: a tool does not come from New", door)
			continue
		}
		mistakes.If(byName[t.definition.Name] != nil, "tools: %s: two tools have the name %s", door, t.definition.Name)
		byName[t.definition.Name] = t
	}
	mistakes.Panic()
	return func(name string) (*Tool, error) {
		var mistakes driver.Mistakes
		mistakes.If(byName[name] == nil, "tools: %s: the event names a tool that this function does not serve; compare the tools that are configured there", door)
		return byName[name], mistakes.Err()
	}
}
