package oncevet

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

// What a source makes anew for each delivery: paths of package keypath, fields of
// aws-lambda-go, and attributes of a queue's message.
var (
	paths      = regexp.MustCompile(`(?i)requestContext\.(requestId|requestTime|timeEpoch)|receiptHandle|ApproximateReceiveCount|ApproximateFirstReceiveTimestamp|extendedRequestId`)
	fields     = regexp.MustCompile(`^(RequestID|ExtendedRequestID|AwsRequestID|RequestTime|RequestTimeEpoch|TimeEpoch|ReceiptHandle)$`)
	attributes = regexp.MustCompile(`^(ApproximateReceiveCount|ApproximateFirstReceiveTimestamp|SentTimestamp)$`)
)

func keys(c *code, report report) {
	const then = "a redelivery has another key, and its effects happen again. Use what the sender repeats: an idempotency key, or an id of the business"
	value := func(e ast.Expr, fresh func(ast.Node) bool) {
		if e != nil && c.is(e, fresh) {
			report(e.Pos(), "the key is made anew for each delivery or attempt: %s", then)
		}
	}
	c.inspect(func(n ast.Node, stack []ast.Node) {
		fresh := c.given
		if i := slices.IndexFunc(stack, c.receives); i >= 0 {
			fresh = c.fresh(stack[i])
		}
		key := c.literal(n)
		value(key["ID"], fresh)
		value(key["Record"], fresh)
	})
	for _, call := range c.calls {
		switch name := c.once(call); {
		case name == "idempotent.Field":
			for _, f := range c.functions(call.Args[0]) {
				for _, result := range returned(f.body) {
					value(result, c.fresh(f.node))
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

// fresh returns a function that reports whether a node is made anew in each call of fn. A
// program can also make a key by chance before, and repeat its own call with it.
func (c *code) fresh(fn ast.Node) func(ast.Node) bool {
	return func(n ast.Node) bool {
		return c.given(n) || c.chance(n) && fn.Pos() <= n.Pos() && n.Pos() < fn.End()
	}
}

// receives reports whether a node is a function that is called for each request: it takes
// a context, or returns a key.
func (c *code) receives(n ast.Node) bool {
	var typ *ast.FuncType
	switch n := n.(type) {
	case *ast.FuncDecl:
		typ = n.Type
	case *ast.FuncLit:
		typ = n.Type
	default:
		return false
	}
	returnsKey := typ.Results != nil && isNamed(c.info.TypeOf(typ.Results.List[0].Type), "idempotent.Key")
	return returnsKey || c.takes(function{typ: typ}, "context.Context")
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
