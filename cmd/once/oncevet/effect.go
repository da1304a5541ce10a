package oncevet

import (
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

func effects(c *code, report report) {
	passesKey := func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		return ok && slices.ContainsFunc(call.Args, c.keyed)
	}
	for call, s := range c.running {
		what := c.sends(call)
		if what == "" || s.step != nil || s.h.x != nil && c.flowsFrom(s.h.x, c.isField("MaxAttempts")) ||
			passesKey(call) || slices.ContainsFunc(s.stack, passesKey) || slices.ContainsFunc(call.Args, c.recognized) {
			continue
		}
		report(call.Pos(), "%s in a handler of %s is in no step and carries no key that a repetition has: an attempt that dies after it is repeated, and so is the effect. "+
			"Send an idempotent.DownstreamKey, add a condition, write it in the transaction of the record, or put it into idempotent.Step, where only a crash in the step repeats it", what, s.h.name)
	}
}

// keyed reports whether a key of the call, or one that the function receives, flows into
// an expression.
func (c *code) keyed(e ast.Expr) bool {
	makes := c.calling("idempotent.DownstreamKey", "idempotent.ChainKey", "idempotent.FromContext", "handlers.ChainAttributes", "handlers.ChainDetail", "httpapi.SetChainHeaders")
	return !isNamed(c.info.TypeOf(e), "context.Context") && c.flowsFrom(e, func(n ast.Node) bool {
		v := c.variable(n)
		return makes(n) || v != nil && isNamed(v.Type(), "idempotent.Key") ||
			c.unset(v) && types.Identical(v.Type().Underlying(), types.Typ[types.String]) && strings.HasSuffix(strings.ToLower(v.Name()), "key")
	})
}

// unset reports whether a variable has its value from elsewhere, as a parameter has.
func (c *code) unset(v *types.Var) bool { return v != nil && !v.IsField() && len(c.sets[v]) == 0 }

// recognized reports whether the service recognizes a repetition of a request by itself. A
// request that comes from a different package may have a token, and counts as recognized. A
// token that is made for the attempt does not count.
func (c *code) recognized(arg ast.Expr) bool {
	tokens := []string{"ClientRequestToken", "ClientToken", "ConditionExpression", "DurableExecutionName", "Expected", "IdempotencyKey", "IdempotencyToken", "MessageDeduplicationId"}
	if isNamed(c.info.TypeOf(arg), "github.com/aws/aws-sdk-go-v2/service/sfn.StartExecutionInput") {
		tokens = append(tokens, "Name")
	}
	fresh := map[ast.Node]bool{} // the names of such tokens
	return c.flowsFrom(arg, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			fresh[n.Key] = c.is(n.Value, c.chance)
		case *ast.CallExpr: // request.Header.Set(name, token)
			if len(n.Args) == 2 {
				fresh[n.Args[0]] = c.is(n.Args[1], c.chance)
			}
		}
		v, e := c.variable(n), ast.Expr(nil)
		e, _ = n.(ast.Expr)
		return !fresh[n] && (c.isField(tokens...)(n) || e != nil && strings.Contains(strings.ToLower(c.text(e)), "idempoten") ||
			c.unset(v) && strings.HasPrefix(v.Type().String(), "*") && operations.MatchString(v.Type().String()))
	})
}

var (
	// The operations of AWS that a repetition does twice. Deletions and puts of objects
	// are not among them: a repetition leaves the same state.
	operations = regexp.MustCompile(`^\*?github\.com/aws/aws-sdk-go.*/service/(dynamodb\.(?:PutItem|UpdateItem|BatchWriteItem|TransactWriteItems)|sqs\.SendMessage(?:Batch)?|` +
		`sns\.Publish(?:Batch)?|iotdataplane\.Publish|(?:eventbridge|cloudwatchevents)\.PutEvents|(?:kinesis|firehose)\.PutRecord(?:s|Batch)?|lambda\.Invoke(?:Async)?|` +
		`(?:ses|sesv2)\.Send\w*Email|sfn\.Start(?:Sync)?Execution|apigatewaymanagementapi\.PostToConnection|batch\.SubmitJob|ecs\.RunTask|ssm\.SendCommand)Input$`)
	posts    = regexp.MustCompile(`^(\(\*net/http\.Client\)|net/http)\.Post(Form)?$`)
	database = regexp.MustCompile(`^\(\*?(database/sql|github\.com/jackc/pgx/v\d(/pgxpool)?)\.(DB|Conn|Tx|Pool)\)\.(Exec|Query|QueryRow|CopyFrom)(Context)?$`)
	writing  = regexp.MustCompile(`(?is)^\s*(?:with\b.*\b)?(insert|update|merge)\b`)
	harmless = regexp.MustCompile(`(?is)on conflict|on duplicate|insert (or )?ignore|where not exists`)
	begins   = regexp.MustCompile(`^\(\*github\.com/jackc/pgx/.*\)\.Begin`)
)

// sends names the effect of a call, or returns "" if a repetition would do no harm.
func (c *code) sends(call *ast.CallExpr) string {
	name := c.callee(call)
	s, _ := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	switch {
	case posts.MatchString(name):
		return "a POST request"
	case name == "(*net/http.Client).Do":
		method := ""
		c.flowsFrom(call.Args[0], func(n ast.Node) bool {
			if made, ok := n.(*ast.CallExpr); ok && strings.HasPrefix(c.callee(made), "net/http.NewRequest") {
				method = c.text(made.Args[len(made.Args)-3])
			}
			return method != ""
		})
		if slices.Contains([]string{"POST", "PUT", "PATCH"}, method) {
			return "a " + method + " request"
		}
	case database.MatchString(name):
		// The transaction of a record is a pgx.Tx, too. One that the handler begins is not.
		if strings.HasPrefix(name, "(github.com/jackc/pgx/v5.Tx)") && !c.is(s.X, func(n ast.Node) bool { return begins.MatchString(c.callee(n)) }) {
			return ""
		}
		if strings.HasSuffix(name, ".CopyFrom") {
			return "a COPY"
		}
		for _, arg := range call.Args {
			if found := writing.FindStringSubmatch(c.text(arg)); found != nil && !harmless.MatchString(c.text(arg)) {
				return "an " + strings.ToUpper(found[1])
			}
		}
	case s != nil:
		return c.operation(call, strings.TrimSuffix(s.Sel.Name, "WithContext"))
	}
	return ""
}

// operation returns "sqs.SendMessage" for a call of this method with this input, whatever
// the type of the client is: many are interfaces of the caller.
func (c *code) operation(call *ast.CallExpr, method string) string {
	for _, arg := range call.Args {
		if found := operations.FindStringSubmatch(c.info.TypeOf(arg).String()); found != nil && strings.HasSuffix(found[1], "."+method) {
			return found[1]
		}
	}
	return ""
}
