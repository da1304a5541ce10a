package docs_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/moto"
	"github.com/lambda-once/once/internal/wire"
)

// The code of docs/durable.md about Step Functions.

type workflows struct{ client *sfn.Client } // "github.com/aws/aws-sdk-go-v2/service/sfn"

func (w workflows) StartExecution(ctx context.Context, stateMachine, name, input string) (string, error) {
	out, err := w.client.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: &stateMachine, Name: &name, Input: &input})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.ExecutionArn), nil
}

func (w workflows) ExecutionInput(ctx context.Context, execution string) (string, error) {
	out, err := w.client.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: &execution})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.Input), nil
}

func dispatchWorkflows(w workflows, stateMachine string) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	start := durablefunc.StartWorkflow[handlers.SQSMessage[durableOrder]](w, stateMachine, nil)
	return durablefunc.Dispatch("pay", handlers.SQS, durableOrderOf, start, nil)
}

// The service of moto keeps the names of executions, and refuses them after the end.
func TestDispatcherOfThePageStartsOneWorkflow(t *testing.T) {
	var mu sync.Mutex
	var requests []string
	proxy, err := wire.HTTP(moto.Start(t), func(r *wire.Request) (*wire.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		requests = append(requests, r.Operation+" "+string(r.Body))
		return r.Send()
	})
	check.Must(t, err)
	t.Cleanup(func() { check.Nil(t, proxy.Close()) })
	client := sfn.New(sfn.Options{
		BaseEndpoint: aws.String(proxy.URL()), Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
	made, err := client.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: aws.String("pay"), RoleArn: aws.String("arn:aws:iam::123456789012:role/pay"), Definition: aws.String(`{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`),
	})
	check.Must(t, err)
	requests = nil
	h := dispatchWorkflows(workflows{client}, *made.StateMachineArn)
	deliver := func(body string, failed int) {
		t.Helper()
		response, err := h(t.Context(), events.SQSEvent{Records: []events.SQSMessage{{MessageId: "m", EventSource: "aws:sqs", Body: body}}})
		check.Nil(t, err)
		check.Equal(t, len(response.BatchItemFailures), failed, body)
	}
	name, err := durablefunc.ExecutionName("pay", idempotent.Key{ID: "o-1"})
	check.Must(t, err)
	execution := strings.Replace(*made.StateMachineArn, "stateMachine", "execution", 1) + ":" + name
	started := `StartExecution {"input":"{\"ID\":\"o-1\",\"Cents\":1}","name":"` + name + `","stateMachineArn":"` + *made.StateMachineArn + `"}`
	described := `DescribeExecution {"executionArn":"` + execution + `"}`
	deliver(`{"ID":"o-1","Cents":1}`, 0)
	deliver(`{"ID":"o-1","Cents":1}`, 0)
	_, err = client.StopExecution(t.Context(), &sfn.StopExecutionInput{ExecutionArn: &execution})
	check.Must(t, err)
	deliver(`{"ID":"o-1","Cents":1}`, 0)
	deliver(`{"ID":"o-1","Cents":2}`, 1)
	check.Slice(t, requests, []string{
		started, started, `StopExecution {"executionArn":"` + execution + `"}`, started, described, strings.Replace(started, `:1}`, `:2}`, 1), described,
	})
	all, err := client.ListExecutions(t.Context(), &sfn.ListExecutionsInput{StateMachineArn: made.StateMachineArn})
	check.Must(t, err)
	check.Equal(t, len(all.Executions), 1)
}
