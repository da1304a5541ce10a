package stepfunc_test

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
	"github.com/lambda-once/once/handlers/stepfunc"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/errortypes"
)

const (
	machine    = "arn:aws:states:eu-central-1:123456789012:stateMachine:pay"
	executions = "arn:aws:states:eu-central-1:123456789012:execution:pay:"
)

// service stands for Step Functions.
type service struct {
	inputs  map[string]string // of the executions, by their ARNs
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

func (s *service) StartExecution(_ context.Context, stateMachine, name, input string) (string, error) {
	s.starts++
	if err := s.fail; err != nil {
		s.fail = nil
		return "", err
	}
	if s.express {
		return strings.Replace(executions, ":execution:", ":express:", 1) + name + ":id", nil
	}
	arn := executions + name
	if first, exists := s.inputs[arn]; exists && (s.ended || first != input) {
		return "", fmt.Errorf("operation error SFN: StartExecution: %w", existsError{})
	}
	if s.inputs == nil {
		s.inputs = map[string]string{}
	}
	s.inputs[arn] = input
	return arn, nil
}

func (s *service) ExecutionInput(_ context.Context, execution string) (string, error) {
	s.asked = append(s.asked, execution)
	if err := s.fail; err != nil {
		s.fail = nil
		return "", err
	}
	return s.inputs[execution], nil
}

type order struct {
	ID string `json:"id"`
}

func orderOf(m handlers.SQSMessage[order]) (idempotent.Key, error) {
	return idempotent.Key{ID: m.Body.ID}, nil
}

// dispatcher returns a function that delivers a message with a body, and returns why it
// failed, or nil. A failure that no retry can mend is a poisonError.
func dispatcher(t *testing.T, client stepfunc.Client, stateMachine string) func(body string) error {
	t.Helper()
	var failures handlertest.Received
	start := stepfunc.StartExecution[handlers.SQSMessage[order]](client, stateMachine, nil)
	h := stepfunc.Dispatch("pay", handlers.SQS, orderOf, start, &handlers.SQSOptions{
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

func TestEachKeyStartsOneExecution(t *testing.T) {
	for _, arn := range []string{machine, machine + ":live"} {
		s := &service{}
		deliver := dispatcher(t, s, arn)
		check.Nil(t, deliver(`{"id": "o-1"}`))
		check.Nil(t, deliver(`{"id": "o-1"}`))
		check.Equal(t, len(s.asked), 0, "asked although the service knows the duplicate")
		s.ended = true
		check.Nil(t, deliver(`{"id": "o-1"}`), "a duplicate after the end")
		check.Nil(t, deliver(`{"id":"o-1"}`), "the same value in other bytes")
		failed := deliver(`{"id": "o-1", "cents": 2}`)
		check.Is(t, failed, stepfunc.ErrExecutionExists)
		check.Is(t, failed, existsError{})
		check.Nil(t, check.As[*stepfunc.ExecutionExistsError](t, failed).ReadErr)
		name, err := stepfunc.ExecutionName("pay", idempotent.Key{ID: "o-1"})
		check.Must(t, err)
		check.Deep(t, s.inputs, map[string]string{executions + name: `{"id": "o-1"}`}, "of an alias, too")
		check.Slice(t, s.asked, []string{executions + name, executions + name, executions + name})
	}
}

// A name of durable executions is one of Step Functions, in every version.
func TestNameIsThatOfDurableExecutions(t *testing.T) {
	name, err := stepfunc.ExecutionName("pay", idempotent.Key{ID: "o-1"})
	check.Must(t, err)
	durable, err := durablefunc.ExecutionName("pay", idempotent.Key{ID: "o-1"})
	check.Must(t, err)
	check.Equal(t, name, durable)
	check.Equal(t, strings.Trim(name, "0123456789abcdef"), "")
	check.True(t, len(name) <= 80)
}

// The next delivery may succeed, so these are not permanent.
func TestErrorsOfTheClientAreRepeated(t *testing.T) {
	s := &service{fail: errThrottled}
	deliver := dispatcher(t, s, machine)
	check.Is(t, deliver(`{"id":"o-1"}`), errThrottled)
	check.Nil(t, deliver(`{"id":"o-1"}`))
	s.ended = true
	exists := &denied{service: s}
	failed := dispatcher(t, exists, machine)(`{"id":"o-1"}`)
	check.Is(t, failed, errThrottled)
	check.False(t, isPoison(failed))
	check.Is(t, check.As[*stepfunc.ExecutionExistsError](t, failed).ReadErr, errThrottled)
}

// denied cannot read inputs.
type denied struct{ *service }

func (*denied) ExecutionInput(context.Context, string) (string, error) { return "", errThrottled }

func TestWhatCanNeverStartIsPermanent(t *testing.T) {
	for name, c := range map[string]struct {
		s    *service
		body string
		why  error
	}{
		"too large": {&service{}, `{"id":"o-1"}` + strings.Repeat(" ", 256<<10), stepfunc.ErrExecutionInput},
		"express":   {&service{express: true}, `{"id":"o-1"}`, stepfunc.ErrExpressWorkflow},
		"reused":    {&service{fail: existsError{}}, `{"id":"o-1"}`, stepfunc.ErrExecutionExists},
	} {
		t.Run(name, func(t *testing.T) {
			failed := dispatcher(t, c.s, machine)(c.body)
			check.Is(t, failed, c.why)
			check.True(t, isPoison(failed))
		})
	}
}

func TestInputIsLimitedByItsBytes(t *testing.T) {
	s := &service{}
	deliver := dispatcher(t, s, machine)
	largest := `{"id":"o-1","pad":"` + strings.Repeat("é", (256<<10-len(`{"id":"o-1","pad":""}`)-1)/2) + `"}`
	largest += strings.Repeat(" ", 256<<10-len(largest))
	check.Nil(t, deliver(largest))
	check.Says(t, deliver(largest+" "), "262145 bytes, more than the 262144")
	check.Equal(t, s.starts, 1)
}

// Each start of an Express workflow is an execution of its own.
func TestExpressWorkflowIsStartedAtMostOnce(t *testing.T) {
	s := &service{express: true}
	deliver := dispatcher(t, s, machine)
	for range 3 {
		check.Is(t, deliver(`{"id":"o-1"}`), stepfunc.ErrExpressWorkflow)
	}
	check.Equal(t, s.starts, 1)
}

func TestStartExecutionPanics(t *testing.T) {
	for name, construct := range map[string]func(){
		"the client is nil":      func() { stepfunc.StartExecution[handlers.SQSMessage[order]](nil, machine, nil) },
		"has no body of its own": func() { stepfunc.StartExecution[events.S3EventRecord](&service{}, machine, nil) },
		"is not the ARN of a state machine": func() {
			stepfunc.StartExecution[handlers.SQSMessage[order]](&service{}, strings.Replace(machine, "stateMachine", "execution", 1), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() { check.Contains(t, fmt.Sprint(recover()), name) }()
			construct()
		})
	}
}

func TestEveryErrorHasAnExportedType(t *testing.T) {
	errortypes.CheckCauses(t, map[string]func(t *testing.T) error{
		"ExecutionInputError": func(t *testing.T) error {
			start := stepfunc.StartExecution(&service{}, machine, func(order) ([]byte, error) { return []byte("{"), nil })
			return stepfunc.Dispatch("pay", handlers.EventBridge, nil, func(ctx context.Context, _ handlers.EventBridgeEvent[order]) error {
				return start(ctx, order{})
			}, nil)(t.Context(), events.EventBridgeEvent{ID: "e", Detail: []byte("{}")})
		},
		"ExecutionExistsError": func(t *testing.T) error { return dispatcher(t, &service{fail: existsError{}}, machine)(`{"id":"o-1"}`) },
		"ExpressWorkflowError": func(t *testing.T) error { return dispatcher(t, &service{express: true}, machine)(`{"id":"o-1"}`) },
	})
}
