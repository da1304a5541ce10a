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
	value := func(e ast.Expr) {
		if e != nil && c.is(e, c.fresh) {
			report(e.Pos(), "the key is made anew for each delivery or attempt: %s", then)
		}
	}
	c.inspect(func(n ast.Node) {
		key := c.literal(n)
		value(key["ID"])
		value(key["Record"])
	})
	for _, call := range c.calls {
		switch name := c.once(call); {
		case name == "idempotent.Field":
			for _, f := range c.functions(call.Args[0]) {
				for _, result := range returned(f.body) {
					value(result)
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

// fresh reports whether a node is a value of the invocation, and not of the request.
func (c *code) fresh(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		s := c.info.Selections[n]
		return s != nil && s.Obj().Pkg() != nil && strings.HasPrefix(s.Obj().Pkg().Path(), "github.com/aws/aws-lambda-go/") && fields.MatchString(n.Sel.Name)
	case *ast.IndexExpr:
		return attributes.MatchString(c.text(n.Index))
	}
	return c.chance(n)
}

// literal returns the fields of a literal of idempotent.Key, or nil.
func (c *code) literal(n ast.Node) map[string]ast.Expr {
	l, ok := n.(*ast.CompositeLit)
	if !ok || !isNamed(c.info.TypeOf(l), "idempotent.Key") {
		return nil
	}
	key := map[string]ast.Expr{}
	for _, element := range slices.DeleteFunc(slices.Clone(l.Elts), func(e ast.Expr) bool { _, ok := e.(*ast.KeyValueExpr); return !ok }) {
		field := element.(*ast.KeyValueExpr)
		key[field.Key.(*ast.Ident).Name] = field.Value
	}
	return key
}
