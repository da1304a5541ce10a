package oncevet

import (
	"fmt"
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// The values that a source makes anew for each delivery: paths of package keypath, fields of
// aws-lambda-go, and attributes of a queue's message.
var (
	paths      = regexp.MustCompile(`(?i)requestContext\.(requestId|requestTime|timeEpoch)|receiptHandle|ApproximateReceiveCount|ApproximateFirstReceiveTimestamp|extendedRequestId`)
	fields     = regexp.MustCompile(`^(RequestID|ExtendedRequestID|AwsRequestID|RequestTime|RequestTimeEpoch|TimeEpoch|ReceiptHandle)$`)
	attributes = regexp.MustCompile(`^(ApproximateReceiveCount|ApproximateFirstReceiveTimestamp|SentTimestamp)$`)
)

func keys(c *code, report report) {
	const then = "a redelivery has another key, and its effects happen again. Use what the sender repeats: an idempotency key, or an id of the business"
	value := func(e ast.Expr, entries ...ast.Node) {
		if e != nil && c.is(e, func(n ast.Node) bool {
			// A program can also make a key by chance, and repeat its own call with it.
			return c.given(n) || c.chance(n) && slices.ContainsFunc(entries, func(f ast.Node) bool { return contains(f, n) && contains(f, e) })
		}) {
			report(e.Pos(), "the key is made anew for each delivery or attempt: %s", then)
		}
	}
	for n := range c.nodes {
		key := c.literal(n)
		value(key["ID"], c.entries...)
		value(key["Record"], c.entries...)
	}
	for _, call := range c.calls {
		switch name := c.once(call); {
		case name == "idempotent.Field":
			for _, f := range c.functions(call.Args[0]) {
				for _, result := range f.returned() {
					value(result, f.node)
				}
			}
		case strings.HasPrefix(name, "keypath."):
			for _, arg := range call.Args {
				if found := paths.FindString(c.text(arg)); found != "" {
					report(arg.Pos(), "the key has %s, which is made anew for each delivery: %s", found, then)
				}
			}
		case name == "idempotent.WholePayload" && strings.HasPrefix(c.info.TypeOf(call).String(), "func(github.com/aws/aws-lambda-go/events."):
			report(call.Pos(), "the key is a whole event of Lambda, with its request ids and times: %s", then)
		}
	}
}

// given reports whether a node is a value of the invocation, and not of the request.
func (c *code) given(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		s := c.info.Selections[n]
		return s != nil && s.Obj().Pkg() != nil && strings.HasPrefix(s.Obj().Pkg().Path(), "github.com/aws/aws-lambda-go/") && fields.MatchString(n.Sel.Name)
	case *ast.IndexExpr:
		return attributes.MatchString(c.text(n.Index))
	}
	return false
}

// literal returns the fields of a literal of idempotent.Key, or nil.
func (c *code) literal(n ast.Node) map[string]ast.Expr {
	l, ok := n.(*ast.CompositeLit)
	if !ok || !isNamed(c.info.TypeOf(l), "idempotent.Key") {
		return nil
	}
	key := map[string]ast.Expr{}
	for _, element := range l.Elts {
		if field, ok := element.(*ast.KeyValueExpr); ok {
			key[field.Key.(*ast.Ident).Name] = field.Value
		}
	}
	return key
}

func nestedKeys(c *code, report report) {
	for call, s := range c.running {
		if c.once(call) != "idempotent.Do" || s.h.x == nil || s.h.key == nil || c.object(s.h.x) == nil || c.object(s.h.x) != c.object(call.Args[1]) {
			continue
		}
		if c.part(call.Args[0], s.f) != "·" { // another context makes a call of its own
			continue
		}
		if id := c.id(call.Args[2], s.f); id != "" && id == c.id(s.h.key, s.f) {
			report(call.Args[2].Pos(), "the call has the executor and the key of the call that it is part of: it would wait for itself, and is refused with a NestedCallError. "+
				"Use idempotent.Step, or an executor of its own")
		}
	}
}

// id describes the ID of a key, or of the only one that a key function returns, so that
// two can be compared: a part of the request, "·.Order.ID", or of a variable. It is ""
// for a key that it does not understand.
func (c *code) id(e ast.Expr, within function) string {
	for e = ast.Unparen(e); ; e = ast.Unparen(e) {
		call, isCall := e.(*ast.CallExpr)
		v := c.variable(e)
		switch {
		case c.once(e) == "idempotent.Field":
			e = call.Args[0]
		case isCall && len(call.Args) == 1 && c.part(call.Args[0], within) == "·": // orderKey(o)
			e = call.Fun
		case isA[*types.Signature](c.info.TypeOf(e)):
			fns := c.functions(e)
			if len(fns) != 1 || len(fns[0].returned()) == 0 {
				return ""
			}
			e, within = fns[0].returned()[0], fns[0]
		case c.literal(e) != nil:
			key := c.literal(e)
			if key["ID"] == nil || key["Scope"] != nil || key["Record"] != nil {
				return ""
			}
			return c.part(key["ID"], within)
		case v != nil && len(c.sets[v]) == 1 && isNamed(v.Type(), "idempotent.Key"):
			e = c.sets[v][0]
		default:
			return c.part(e, within)
		}
	}
}

// part names a part of the request that a function receives, or of a variable.
func (c *code) part(e ast.Expr, of function) string {
	e = ast.Unparen(e)
	v := c.variable(e)
	s, isPart := e.(*ast.SelectorExpr)
	switch {
	case v == nil, isPart && c.part(s.X, of) == "":
		return ""
	case isPart:
		return c.part(s.X, of) + "." + s.Sel.Name
	case slices.ContainsFunc(of.params(), func(name *ast.Ident) bool { return c.info.Defs[name] == v }):
		return "·"
	}
	return fmt.Sprintf("%p", v)
}
