package durablefunc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
)

const (
	machine      = "arn:aws:states:eu-central-1:123456789012:stateMachine:pay"
	executionARN = "arn:aws:states:eu-central-1:123456789012:execution:pay:"
)

// workflows stands for Step Functions.
type workflows struct {
	inputs  map[string]string // of the executionARN, by their ARNs
	ended   bool              // all executions have
	express bool
	fail    error // of the next call
	starts  int
	asked   []string // for inputs
}

// existsError is that of the AWS SDK.
type existsError struct{}

func (existsError) Error() string     { return "ExecutionAlreadyExists: exists" }
func (existsError) ErrorCode() string { return "ExecutionAlreadyExists" }

var errThrottled = errors.New("ThrottlingException")

func (s *workflows) StartExecution(_ context.Context, stateMachine, name, input string) (string, error) {
	s.starts++
	if err := s.fail; err != nil {
		s.fail = nil
		return "", err
	}
	if s.express {
		return strings.Replace(executionARN, ":execution:", ":express:", 1) + name + ":id", nil
	}
	arn := executionARN + name
	if first, exists := s.inputs[arn]; exists && (s.ended || first != input) {
		return "", fmt.Errorf("operation error SFN: StartExecution: %w", existsError{})
	}
	if s.inputs == nil {
		s.inputs = map[string]string{}
	}
	s.inputs[arn] = input
	return arn, nil
}

func (s *workflows) ExecutionInput(_ context.Context, execution string) (string, error) {
	s.asked = append(s.asked, execution)
	if err := s.fail; err != nil {
		s.fail = nil
		return "", err
	}
	return s.inputs[execution], nil
}

// workflowDispatcher returns a function that delivers a message with a body, and returns why it
// failed, or nil. A failure that no retry can mend is a poisonError.
func workflowDispatcher(t *testing.T, client durablefunc.WorkflowClient, stateMachine string) func(body string) error {
	t.Helper()
	var failures handlertest.Received
	start := durablefunc.StartWorkflow[handlers.SQSMessage[order]](client, stateMachine, nil)
	h := durablefunc.Dispatch("pay", handlers.SQS, orderOf, start, &handlers.SQSOptions{
		OnFailure: failures.Receive,
		Poison:    func(_ context.Context, _ events.SQSMessage, err error) error { return &poisonError{err} },
	})
	return func(body string) error {
		failures.Failed = nil
		message := events.SQSMessage{MessageId: "m", EventSource: "aws:sqs", Body: body}
		response, err := h(t.Context(), events.SQSEvent{Records: []events.SQSMessage{message}})
		check.Must(t, err)
		check.Equal(t, len(response.BatchItemFailures), len(failures.Failed))
		if len(failures.Failed) == 0 {
			return nil
		}
		return failures.Failed[0]
	}
}

type poisonError struct{ error }

func (e *poisonError) Unwrap() error { return e.error }

func isPoison(err error) bool {
	_, is := errors.AsType[*poisonError](err)
	return is
}

func TestEachKeyStartsOneWorkflow(t *testing.T) {
	for _, arn := range []string{machine, machine + ":live"} {
		s := &workflows{}
		deliver := workflowDispatcher(t, s, arn)
		check.Nil(t, deliver(`{"id": "o-1"}`))
		check.Nil(t, deliver(`{"id": "o-1"}`))
		check.Equal(t, len(s.asked), 0, "asked although the service knows the duplicate")
		s.ended = true
		check.Nil(t, deliver(`{"id": "o-1"}`), "a duplicate after the end")
		check.Nil(t, deliver(`{"id":"o-1"}`), "the same value in other bytes")
		failed := deliver(`{"id": "o-1", "cents": 2}`)
		check.Is(t, failed, durablefunc.ErrExecutionExists)
		check.Is(t, failed, existsError{})
		check.True(t, isPoison(failed))
		check.True(t, check.As[*durablefunc.ExecutionExistsError](t, failed).KeyReused)
		name, err := durablefunc.ExecutionName("pay", idempotent.Key{ID: "o-1"})
		check.Must(t, err)
		check.Deep(t, s.inputs, map[string]string{executionARN + name: `{"id": "o-1"}`}, "of an alias, too")
		check.Slice(t, s.asked, []string{executionARN + name, executionARN + name, executionARN + name})
	}
}

// The next delivery may succeed, so these are not permanent.
func TestErrorsOfTheWorkflowClientAreRepeated(t *testing.T) {
	s := &workflows{fail: errThrottled}
	deliver := workflowDispatcher(t, s, machine)
	check.Is(t, deliver(`{"id":"o-1"}`), errThrottled)
	check.Nil(t, deliver(`{"id":"o-1"}`))
	s.ended = true
	exists := &denied{workflows: s}
	failed := workflowDispatcher(t, exists, machine)(`{"id":"o-1"}`)
	check.Is(t, failed, errThrottled)
	check.False(t, isPoison(failed))
	check.Is(t, check.As[*durablefunc.ExecutionExistsError](t, failed).ReadErr, errThrottled)
}

// denied cannot read inputs.
type denied struct{ *workflows }

func (*denied) ExecutionInput(context.Context, string) (string, error) { return "", errThrottled }

func TestWorkflowInputIsLimitedByItsBytes(t *testing.T) {
	s := &workflows{}
	deliver := workflowDispatcher(t, s, machine)
	largest := `{"id":"o-1","pad":"` + strings.Repeat("é", (256<<10-len(`{"id":"o-1","pad":""}`)-1)/2) + `"}`
	largest += strings.Repeat(" ", 256<<10-len(largest))
	check.Nil(t, deliver(largest))
	failed := deliver(largest + " ")
	check.Says(t, failed, "262145 bytes, more than the 262144")
	check.True(t, isPoison(failed))
	check.Equal(t, s.starts, 1)
}

// Each start of an Express workflow is an execution of its own.
func TestExpressWorkflowIsStartedAtMostOnce(t *testing.T) {
	s := &workflows{express: true}
	deliver := workflowDispatcher(t, s, machine)
	for range 3 {
		failed := deliver(`{"id":"o-1"}`)
		check.Is(t, failed, durablefunc.ErrExpressWorkflow)
		check.True(t, isPoison(failed))
	}
	check.Equal(t, s.starts, 1)
}
