package main

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/lambda-once/once/cmd/once/internal/checks"
	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/moto"
)

// Each row makes one thing wrong, and names the only finding that then is.
func TestCheckFindsWhatIsWrongOfADeployedFunction(t *testing.T) {
	moto.Start(t)
	t.Run("nothing", func(t *testing.T) {
		a := newDeployment(t)
		a.addStream(func(*lambda.CreateEventSourceMappingInput) {})
		for name, f := range a.found(0, "check", "--strict", "--function", "pay", "--operation", "pay", "--group") {
			check.Equal(t, f.Verdict, checks.Fine, name, f)
		}
	})
	stream := func(change func(*lambda.CreateEventSourceMappingInput)) func(*deployment) {
		return func(a *deployment) { a.addStream(change) }
	}
	for name, damage := range map[string]func(*deployment){
		"IDEMPOTENCY_TABLE": func(a *deployment) { a.setVariable("IDEMPOTENCY_TABLE", "other") },
		"ONCE_DISABLED":     func(a *deployment) { a.setVariable("ONCE_DISABLED", "1") },
		"metrics":           func(a *deployment) { a.level.Store("WARN") },
		"kms:Decrypt":       func(a *deployment) { a.denied.Store("kms:Decrypt") },
		"asynchronous events": func(a *deployment) {
			_, err := a.lambda.AddPermission(a.Context(), &lambda.AddPermissionInput{
				FunctionName: aws.String("pay"), StatementId: aws.String("topic"), Action: aws.String("lambda:InvokeFunction"), Principal: aws.String("sns.amazonaws.com"),
			})
			check.Must(a.T, err)
		},
		"orders: reports": func(a *deployment) {
			_, err := a.lambda.UpdateEventSourceMapping(a.Context(), &lambda.UpdateEventSourceMappingInput{UUID: a.mapping, FunctionResponseTypes: []types.FunctionResponseType{}})
			check.Must(a.T, err)
		},
		"orders: visibility":   func(a *deployment) { a.IsSet("orders", "VisibilityTimeout", "59") },
		"orders: dead letters": func(a *deployment) { a.IsSet("orders", "RedrivePolicy", "") },
		"dead: retention":      func(a *deployment) { a.IsSet("dead", "MessageRetentionPeriod", "60") },
		"orders: consumers": func(a *deployment) {
			a.createFunction("other")
			_, err := a.lambda.CreateEventSourceMapping(a.Context(), &lambda.CreateEventSourceMappingInput{FunctionName: aws.String("other"), EventSourceArn: &a.queue})
			check.Must(a.T, err)
		},
		"events: reports":        stream(func(in *lambda.CreateEventSourceMappingInput) { in.FunctionResponseTypes = nil }),
		"events: bisect":         stream(func(in *lambda.CreateEventSourceMappingInput) { in.BisectBatchOnFunctionError = nil }),
		"events: failures":       stream(func(in *lambda.CreateEventSourceMappingInput) { in.DestinationConfig = nil }),
		"events: age":            stream(func(in *lambda.CreateEventSourceMappingInput) { in.MaximumRetryAttempts = nil }),
		"dynamodb:PutItem":       func(a *deployment) { a.denied.Store("dynamodb:PutItem") },
		"dynamodb:PartiQLInsert": func(a *deployment) { a.denied.Store("dynamodb:PartiQLInsert") },
	} {
		t.Run(name, func(t *testing.T) {
			a := newDeployment(t)
			damage(a)
			for is, f := range a.found(cli.CodeNotRight, "check", "--table", "records", "--function", "pay", "--operation", "pay", "--group") {
				check.Equal(t, f.Verdict == checks.Wrong, is == name, is, f)
			}
		})
	}
	t.Run("no function", func(t *testing.T) {
		got := newDeployment(t).run("check", "--function", "nowhere")
		check.Equal(t, got.code, cli.CodeFailed)
		check.Contains(t, got.err, "there is no function nowhere")
	})
}
