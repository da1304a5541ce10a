package oncevet

import (
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

func effects(c *code, report report) {
	c.each(func(h *handler, call *ast.CallExpr, s spot) {
		what := c.sends(call)
		passesKey := func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			return ok && slices.ContainsFunc(call.Args, c.keyed)
		}
		if what == "" || s.step != nil || h.x != nil && c.flowsFrom(h.x, c.isField("MaxAttempts")) ||
			passesKey(call) || slices.ContainsFunc(s.stack, passesKey) || slices.ContainsFunc(call.Args, c.recognized) {
			return
		}
		report(call.Pos(), "%s in a handler of %s is in no step and carries no key: an attempt that dies after it is repeated, and so is the effect. "+
			"Send an idempotent.DownstreamKey, add a condition, write it in the transaction of the record, or put it into idempotent.Step, where only a crash in the step repeats it", what, h.name)
	})
}

// recognized reports whether the service recognizes a repetition of a request by itself,
// or may: one that another package passes is not seen.
func (c *code) recognized(arg ast.Expr) bool {
	isToken := c.isField("ClientRequestToken", "ClientToken", "ConditionExpression", "DurableExecutionName", "Expected", "IdempotencyKey", "IdempotencyToken", "MessageDeduplicationId")
	isExecution := isNamed(c.info.TypeOf(arg), "github.com/aws/aws-sdk-go-v2/service/sfn.StartExecutionInput")
	return c.flowsFrom(arg, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok {
			v, ok := c.info.ObjectOf(name).(*types.Var)
			if ok && !v.IsField() && len(c.sets[v]) == 0 && operations.MatchString(strings.TrimPrefix(v.Type().String(), "*")) && v.Type().String()[0] == '*' {
				return true
			}
		}
		e, ok := n.(ast.Expr)
		return ok && strings.Contains(strings.ToLower(c.text(e)), "idempoten") || isToken(n) || isExecution && c.isField("Name")(n)
	})
}

// isField returns a function that reports whether a node is the name of one of the fields.
func (c *code) isField(names ...string) func(ast.Node) bool {
	return func(n ast.Node) bool {
		name, ok := n.(*ast.Ident)
		if !ok || !slices.Contains(names, name.Name) {
			return false
		}
		v, ok := c.info.ObjectOf(name).(*types.Var)
		return ok && v.IsField()
	}
}

var (
	// The operations of AWS that a repetition does twice. Deletions and puts of objects
	// are not among them: a repetition leaves the same state.
	operations = regexp.MustCompile(`^github\.com/aws/aws-sdk-go.*/service/((dynamodb)\.(PutItem|UpdateItem|BatchWriteItem|TransactWriteItems)|(sqs)\.SendMessage(Batch)?|` +
		`(sns)\.Publish(Batch)?|(iotdataplane)\.Publish|(eventbridge|cloudwatchevents)\.PutEvents|(kinesis|firehose)\.PutRecord(s|Batch)?|(lambda)\.Invoke(Async)?|` +
		`(ses|sesv2)\.Send\w*Email|(sfn)\.Start(Sync)?Execution|(apigatewaymanagementapi)\.PostToConnection|(batch)\.SubmitJob|(ecs)\.RunTask|(ssm)\.SendCommand)Input$`)
	posts    = regexp.MustCompile(`^(\(\*net/http\.Client\)|net/http)\.Post(Form)?$`)
	database = regexp.MustCompile(`^\(\*?(database/sql|github\.com/jackc/pgx/v\d(/pgxpool)?)\.(DB|Conn|Tx|Pool)\)\.(Exec|Query|QueryRow|CopyFrom)(Context)?$`)
	writing  = regexp.MustCompile(`(?is)^\s*(?:with\b.*\b)?(insert|update|merge)\b`)
	harmless = regexp.MustCompile(`(?is)on conflict|on duplicate|insert (or )?ignore|where not exists`)
)

// sends returns what a call sends, or "" if it sends nothing that counts twice.
func (c *code) sends(call *ast.CallExpr) string {
	name := c.callee(call)
	switch {
	case c.operation(call) != "":
		return c.operation(call)
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
		if strings.HasSuffix(name, "pgx/v5.Tx)."+call.Fun.(*ast.SelectorExpr).Sel.Name) && !c.is(call.Fun.(*ast.SelectorExpr).X, c.begins) {
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
	}
	return ""
}

func (c *code) begins(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	return ok && strings.HasPrefix(c.callee(call), "(*github.com/jackc/pgx/") && strings.Contains(c.callee(call), ").Begin")
}

// operation returns "sqs.SendMessage" for a call of this method with this input, whatever
// the type of the client is: many are interfaces of the caller.
func (c *code) operation(call *ast.CallExpr) string {
	s, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	for _, arg := range call.Args {
		input := strings.TrimPrefix(c.info.TypeOf(arg).String(), "*")
		if operation := input[strings.LastIndex(input, "/")+1:]; ok && operations.MatchString(input) && strings.HasSuffix(operation, "."+strings.TrimSuffix(s.Sel.Name, "WithContext")+"Input") {
			return strings.TrimSuffix(operation, "Input")
		}
	}
	return ""
}
