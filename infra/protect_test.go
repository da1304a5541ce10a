package infra

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/appcheck"
	"github.com/lambda-once/once/infra/internal/check"
)

const functionARN = "arn:aws:lambda:eu-west-1:111122223333:function:orders"

// ownFunction is a function of a team, with a timeout of 20 s.
func ownFunction(t *testing.T, stack awscdk.Stack, changes ...func(*awslambda.FunctionProps)) awslambda.Function {
	t.Helper()
	code := zip(t)
	props := &awslambda.FunctionProps{
		Code: awslambda.Code_FromAsset(&code, nil), Handler: jsii.String("bootstrap"),
		Runtime: awslambda.Runtime_PROVIDED_AL2023(), Timeout: seconds(20 * time.Second),
	}
	for _, change := range changes {
		change(props)
	}
	return awslambda.NewFunction(stack, jsii.String("Own"), props)
}

// importedFunction is a function of a second stack, or of a pipeline.
func importedFunction(stack awscdk.Stack) awslambda.IFunction {
	return awslambda.Function_FromFunctionAttributes(stack, jsii.String("Import"), &awslambda.FunctionAttributes{
		FunctionArn: jsii.String(functionARN), Role: newRole(stack), SameEnvironment: jsii.Bool(true),
	})
}

// immutableRole is a role that CDK never changes, although its grants succeed.
func immutableRole(stack awscdk.Stack) awsiam.IRole {
	return awsiam.Role_FromRoleArn(stack, jsii.String("Immutable"), jsii.String("arn:aws:iam::111122223333:role/a"), &awsiam.FromRoleArnOptions{Mutable: jsii.Bool(false)})
}

func TestProtectedFunctionHasTheTableAndItsPermissions(t *testing.T) {
	stack := newStack()
	f := Protect(stack, "Orders", ownFunction(t, stack), &ProtectProps{Retention: 28 * day, Table: NewIdempotencyTable(stack, "Table", nil)})
	f.AddQueue("Queue", nil)
	deployed := synth(t, stack)
	function := deployed.Functions()[0]
	check.Equal(t, function.Properties["Environment"], any(map[string]any{"Variables": map[string]any{"IDEMPOTENCY_TABLE": ref("Table"), "ONCE_METRICS": "emf"}}))
	check.Contains(t, function.Statements, "dynamodb:PutItem")
	check.Equal(t, deployed.Resources()["OrdersQueue"].Properties()["VisibilityTimeout"], 120.0)
}

// Protect sets no variable of the function of a version, which therefore has its own.
func TestVersionKeepsTheVariablesOfItsFunction(t *testing.T) {
	stack := newStack()
	own := ownFunction(t, stack, func(f *awslambda.FunctionProps) {
		f.Environment = &map[string]*string{"IDEMPOTENCY_TABLE": jsii.String("records")}
	})
	Protect(stack, "Orders", own.CurrentVersion(), &ProtectProps{Table: NewIdempotencyTable(stack, "Table", nil)})
	wantFinding(t, "variables", stack)
	Accept(own, "variables", "the program reads the variable for a different table")
	check.Contains(t, synth(t, stack).Functions()[0].Properties["Environment"], "records")
}

// A variable that is set stays, because a table in its place could be an empty one.
func TestProtectOverwritesNoVariable(t *testing.T) {
	for name, value := range map[string]string{"IDEMPOTENCY_TABLE": "old", "ONCE_DISABLED": "1"} {
		stack := newStack()
		own := ownFunction(t, stack, func(f *awslambda.FunctionProps) { f.Environment = &map[string]*string{name: &value} })
		Protect(stack, "Orders", own, &ProtectProps{Table: NewIdempotencyTable(stack, "Table", nil)})
		wantFinding(t, name, stack)
		resource := own.Node().DefaultChild().(awslambda.CfnFunction)
		check.Equal(t, appcheck.In(resource, resource.Environment(), "variables", name), any(value))
	}
}

func TestProtectRefuses(t *testing.T) {
	for words, protect := range map[string]func(awscdk.Stack, *ProtectProps){
		"function: it is required": func(s awscdk.Stack, p *ProtectProps) { Protect(s, "Orders", nil, p) },
		"function: it is imported without its role": func(s awscdk.Stack, p *ProtectProps) {
			p.Timeout = time.Second
			Protect(s, "Orders", awslambda.Function_FromFunctionArn(s, jsii.String("Import"), jsii.String(functionARN)), p)
		},
		"function: its ARN is that of an alias or a version": func(s awscdk.Stack, p *ProtectProps) {
			p.Timeout = time.Second
			Protect(s, "Orders", awslambda.Function_FromFunctionAttributes(s, jsii.String("Import"), &awslambda.FunctionAttributes{
				FunctionArn: jsii.String(functionARN + ":live"), Role: newRole(s), SameEnvironment: jsii.Bool(true),
			}), p)
		},
		"function: CDK would create no permission": func(s awscdk.Stack, p *ProtectProps) {
			p.Timeout = time.Second
			Protect(s, "Orders", awslambda.Function_FromFunctionAttributes(s, jsii.String("Import"), &awslambda.FunctionAttributes{
				FunctionArn: jsii.String("arn:aws:lambda:eu-west-1:444455556666:function:orders"), Role: newRole(s),
			}), p)
		},
		"grantee: it gets no permissions": func(s awscdk.Stack, p *ProtectProps) {
			Protect(s, "Orders", ownFunction(t, s, func(f *awslambda.FunctionProps) { f.Role = immutableRole(s) }), p)
		},
		"function: it is durable, and": func(s awscdk.Stack, p *ProtectProps) {
			own := ownFunction(t, s, func(f *awslambda.FunctionProps) {
				f.DurableConfig = &awslambda.DurableConfig{ExecutionTimeout: seconds(time.Hour)}
			})
			Protect(s, "Orders", own.CurrentVersion(), p)
		},
		"": func(s awscdk.Stack, p *ProtectProps) { // the same value is none of a second table
			own := ownFunction(t, s, func(f *awslambda.FunctionProps) {
				f.Environment = &map[string]*string{"IDEMPOTENCY_TABLE": p.Table.Table.TableName(), "OTHER": jsii.String("x")}
			})
			Protect(s, "Orders", own, p)
		},
		"Timeout: it is required": func(s awscdk.Stack, p *ProtectProps) { Protect(s, "Orders", importedFunction(s), p) },
		"Timeout: 30s is declared, and the function has 20s": func(s awscdk.Stack, p *ProtectProps) {
			p.Timeout = 30 * time.Second
			Protect(s, "Orders", ownFunction(t, s), p)
		},
		"function: it has OnFailure": func(s awscdk.Stack, p *ProtectProps) {
			own := ownFunction(t, s, func(f *awslambda.FunctionProps) { f.RetryAttempts = jsii.Number(1) })
			p.Retention = 28 * day
			Protect(s, "Orders", own, p).FailureQueue()
		},
		"Table: it is required": func(s awscdk.Stack, p *ProtectProps) {
			p.Table = nil
			Protect(s, "Orders", ownFunction(t, s), p)
		},
	} {
		t.Run(words, func(t *testing.T) {
			stack := newStack()
			wantRefusal(t, words, func() { protect(stack, &ProtectProps{Table: NewIdempotencyTable(stack, "Table", nil)}) })
		})
	}
}

// Lambda checks the role of the function when it creates a source.
func TestSourcesOfAnImportWaitForItsPolicy(t *testing.T) {
	stack := newStack()
	f := Protect(stack, "Orders", importedFunction(stack), &ProtectProps{
		Retention: 400 * day, Table: NewIdempotencyTable(stack, "Table", nil), Timeout: 10 * time.Second,
	})
	f.AddKafka("Kafka", msk(nil))
	f.AddQueue("Queue", nil)
	addTopic(f)
	deployed := synth(t, stack)
	for kind, want := range map[string]int{mappingType: 2, invocationsType: 1} {
		ids := deployed.IDs(kind)
		check.Equal(t, len(ids), want)
		for _, id := range ids {
			check.Contains(t, fmt.Sprint(deployed.Resources()[id]["DependsOn"]), "RoleDefaultPolicy", id)
		}
	}
}
