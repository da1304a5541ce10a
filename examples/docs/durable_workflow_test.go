package docs_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	lambdaservice "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
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

// The code of docs/durable.md about dispatchers.

// durableFunction starts executions of one function.
type durableFunction struct {
	client *lambdaservice.Client
	arn    string // of its alias
}

func (f durableFunction) StartExecution(ctx context.Context, name string, input []byte) error {
	_, err := f.client.Invoke(ctx, &lambdaservice.InvokeInput{
		DurableExecutionName: &name, FunctionName: &f.arn, InvocationType: types.InvocationTypeEvent, Payload: input,
	})
	return err
}

func durableOrderOf(m handlers.SQSMessage[durableOrder]) (idempotent.Key, error) {
	return orderOf(m.Body)
}

func dispatchPayments(pay durableFunction) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	start := durablefunc.StartExecution[handlers.SQSMessage[durableOrder]](pay, nil)
	return durablefunc.Dispatch("pay", handlers.SQS, durableOrderOf, start, nil)
}

// comparingFunction also reads the input of an execution.
type comparingFunction struct{ durableFunction }

func (f comparingFunction) ExecutionInput(ctx context.Context, name string) ([]byte, error) {
	function := f.arn[:strings.LastIndex(f.arn, ":")] // of all versions
	list, err := f.client.ListDurableExecutionsByFunction(ctx, &lambdaservice.ListDurableExecutionsByFunctionInput{
		DurableExecutionName: &name, FunctionName: &function,
	})
	if err != nil {
		return nil, err
	}
	if len(list.DurableExecutions) == 0 {
		return nil, errors.New("no execution has the name " + name)
	}
	first, err := f.client.GetDurableExecution(ctx, &lambdaservice.GetDurableExecutionInput{
		DurableExecutionArn: list.DurableExecutions[0].DurableExecutionArn,
	})
	if err != nil {
		return nil, err
	}
	return []byte(aws.ToString(first.InputPayload)), nil
}

const aliasARN = "arn:aws:lambda:eu-central-1:123456789012:function:pay:live"

// lambdaAPI answers as the API of Lambda does, and keeps the starts by their names.
type lambdaAPI struct {
	t      *testing.T
	starts map[string]string
}

func (l *lambdaAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	check.Nil(l.t, err)
	const execution = "arn:aws:lambda:eu-central-1:123456789012:function:pay:1/durable-execution/name/id"
	switch name := r.Header.Get("X-Amz-Durable-Execution-Name"); {
	case strings.HasSuffix(r.URL.Path, "/invocations"):
		if r.Header.Get("X-Amz-Invocation-Type") != "Event" || !strings.Contains(r.URL.Path, aliasARN) {
			l.t.Errorf("%s as %s", r.URL.Path, r.Header.Get("X-Amz-Invocation-Type"))
		}
		if first, exists := l.starts[name]; exists && first != string(body) {
			w.Header().Set("X-Amzn-Errortype", "DurableExecutionAlreadyStartedException")
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"Type":"User","Message":"Execution already started"}`)
			return
		}
		l.starts[name] = string(body)
		w.WriteHeader(http.StatusAccepted)
	case strings.HasSuffix(r.URL.Path, "/functions/"+strings.TrimSuffix(aliasARN, ":live")+"/durable-executions"):
		_, _ = io.WriteString(w, `{"DurableExecutions":[{"DurableExecutionArn":"`+execution+`"}]}`)
	default:
		_, _ = io.WriteString(w, `{"DurableExecutionArn":"`+execution+`","InputPayload":"{\"ID\":\"o-1\",\"Cents\":1}"}`)
	}
}

func TestDispatcherOfThePageStartsOneExecution(t *testing.T) {
	api := &lambdaAPI{t: t, starts: map[string]string{}}
	server := httptest.NewServer(api)
	defer server.Close()
	client := lambdaservice.New(lambdaservice.Options{
		BaseEndpoint: &server.URL, Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
	pay := durableFunction{client, aliasARN}
	h := dispatchPayments(pay)
	for _, c := range []struct {
		body   string
		failed int
	}{{`{"ID":"o-1","Cents":1}`, 0}, {`{"ID":"o-1","Cents":1}`, 0}, {`{"ID":"o-1","Cents":2}`, 1}} {
		response, err := h(t.Context(), events.SQSEvent{Records: []events.SQSMessage{{MessageId: "m", EventSource: "aws:sqs", Body: c.body}}})
		check.Nil(t, err, c.body)
		check.Equal(t, len(response.BatchItemFailures), c.failed, c.body)
	}
	name, err := durablefunc.ExecutionName("pay", idempotent.Key{ID: "o-1"})
	check.Nil(t, err)
	check.Deep(t, api.starts, map[string]string{name: `{"ID":"o-1","Cents":1}`})
	input, err := comparingFunction{pay}.ExecutionInput(t.Context(), name)
	check.Nil(t, err)
	check.Equal(t, string(input), `{"ID":"o-1","Cents":1}`)
}
