package durablefunc_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// startService stands for the service: it starts one execution under a name.
type startService struct {
	mu     sync.Mutex
	inputs map[string]string // of the executions, by their names
	starts int
	fail   error // of the next start
}

// startedError is that of the AWS SDK.
type startedError struct{}

func (startedError) Error() string     { return "DurableExecutionAlreadyStartedException: exists" }
func (startedError) ErrorCode() string { return "DurableExecutionAlreadyStartedException" }

func (s *startService) StartExecution(_ context.Context, name string, input []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starts++
	if err := s.fail; err != nil {
		s.fail = nil
		return err
	}
	if first, exists := s.inputs[name]; exists && first != string(input) {
		return fmt.Errorf("operation error Lambda: Invoke: %w", startedError{})
	}
	if s.inputs == nil {
		s.inputs = map[string]string{}
	}
	s.inputs[name] = string(input)
	return nil
}

func (s *startService) started() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Values(s.inputs))
}

// readingService reads what its executions were started with.
type readingService struct {
	startService
	input func(name string) ([]byte, error)
}

func (s *readingService) ExecutionInput(_ context.Context, name string) ([]byte, error) {
	return s.input(name)
}

var errDenied = errors.New("AccessDeniedException")

type order struct {
	ID string `json:"id"`
}

func orderOf(m handlers.SQSMessage[order]) (idempotent.Key, error) {
	return idempotent.Key{ID: m.Body.ID}, nil
}

func sqsMessage(id, body, receives string) events.SQSMessage {
	return events.SQSMessage{MessageId: id, EventSource: "aws:sqs", Body: body, Attributes: map[string]string{"ApproximateReceiveCount": receives}}
}

// dispatched returns why the execution for a message was not started.
func dispatched(t *testing.T, client durablefunc.ExecutionStarter, body string) error {
	t.Helper()
	failed := delivered(t, client, nil, []events.SQSMessage{sqsMessage("m1", body, "1")})
	check.Equal(t, len(failed), 1)
	return failed[0]
}

// delivered returns the failures of messages that are delivered.
func delivered(t *testing.T, client durablefunc.ExecutionStarter, key func(handlers.SQSMessage[order]) (idempotent.Key, error), messages []events.SQSMessage) []*handlers.RecordError {
	t.Helper()
	var failures handlertest.Received
	start := durablefunc.StartExecution[handlers.SQSMessage[order]](client, nil)
	_, err := durablefunc.Dispatch("pay", handlers.SQS, key, start, &handlers.SQSOptions{OnFailure: failures.Receive})(t.Context(), events.SQSEvent{Records: messages})
	check.Must(t, err)
	return failures.Failed
}

// wantReported delivers messages, and checks which are reported, and why.
func wantReported(t *testing.T, client durablefunc.ExecutionStarter, why error, messages []events.SQSMessage, reported ...string) {
	t.Helper()
	var ids []string
	for _, failed := range delivered(t, client, orderOf, messages) {
		ids = append(ids, failed.ID)
		check.Is(t, failed, why)
	}
	check.Slice(t, ids, reported)
}

// The receive count differs between two deliveries, and is not sent.
func TestRedeliveryStartsNoSecondExecution(t *testing.T) {
	const body = `{ "id": "o-1" }`
	s := &startService{}
	wantReported(t, s, nil, []events.SQSMessage{sqsMessage("m1", body, "1")})
	wantReported(t, s, nil, []events.SQSMessage{sqsMessage("m1", body, "2"), sqsMessage("m2", body, "1")})
	check.Equal(t, s.starts, 3, "each delivery asks the service, which compares the inputs")
	check.Slice(t, s.started(), []string{body})
	name, err := durablefunc.ExecutionName("pay", idempotent.Key{ID: "o-1"})
	check.Nil(t, err)
	check.Equal(t, len(name), 64)
	check.Differ(t, s.inputs[name], "")
}

// The answer of the first start was lost, or the client was throttled.
func TestFailedStartIsRepeatedUnderItsName(t *testing.T) {
	s := &startService{fail: errNetwork}
	messages := []events.SQSMessage{sqsMessage("m1", `{"id":"o-1"}`, "1"), sqsMessage("m2", `{"id":"o-2"}`, "1")}
	wantReported(t, s, errNetwork, messages, "m1")
	wantReported(t, s, nil, messages[:1])
	started := s.started()
	check.Equal(t, len(started), 2)
	check.Equal(t, s.starts, 3)
}

var errNetwork = errors.New("connection reset")

func TestReusedNameIsNoDuplicate(t *testing.T) {
	first, other := sqsMessage("m1", `{"id":"o-1"}`, "1"), sqsMessage("m2", `{"id":"o-1","fail":true}`, "1")
	for name, c := range map[string]struct {
		input   func(string) ([]byte, error) // nil: the client cannot read
		reused  bool
		started bool
		cause   error
	}{
		"another input":      {func(string) ([]byte, error) { return []byte(`{"id":"o-1"}`), nil }, true, false, startedError{}},
		"another version":    {func(string) ([]byte, error) { return []byte(`{"fail": true, "id": "o-1"}`), nil }, false, true, nil},
		"nobody can tell":    {nil, false, false, startedError{}},
		"reading was denied": {func(string) ([]byte, error) { return nil, errDenied }, false, false, errDenied},
	} {
		t.Run(name, func(t *testing.T) {
			reader := &readingService{input: c.input}
			client := durablefunc.ExecutionStarter(reader)
			if c.input == nil {
				client = &reader.startService
			}
			wantReported(t, client, nil, []events.SQSMessage{first})
			failed := delivered(t, client, orderOf, []events.SQSMessage{other})
			check.Equal(t, len(failed) == 0, c.started)
			if c.started {
				return
			}
			check.Is(t, failed[0], durablefunc.ErrExecutionExists)
			check.Is(t, failed[0], c.cause)
			check.Equal(t, check.As[*durablefunc.ExecutionExistsError](t, failed[0]).KeyReused, c.reused)
			check.Equal(t, len(reader.started()), 1)
		})
	}
}

// A stream's Poison receives what no delivery can start. What reading the first
// execution may clear up comes again.
func TestWhatCanNeverStartIsPoison(t *testing.T) {
	reused := func(string) ([]byte, error) { return []byte(`{}`), nil }
	for name, c := range map[string]struct {
		client durablefunc.ExecutionStarter
		body   string
		why    error // nil: it is no poison
	}{
		"too large":         {&startService{}, `{"id":"` + strings.Repeat("x", 1<<20) + `"}`, durablefunc.ErrExecutionInput},
		"reused":            {&readingService{input: reused, startService: startService{fail: startedError{}}}, `{"id":"o-1"}`, durablefunc.ErrExecutionExists},
		"cannot be told":    {&startService{fail: startedError{}}, `{"id":"o-1"}`, durablefunc.ErrExecutionExists},
		"throttled":         {&startService{fail: errNetwork}, `{"id":"o-1"}`, nil},
		"denied to compare": {&readingService{input: func(string) ([]byte, error) { return nil, errDenied }, startService: startService{fail: startedError{}}}, `{"id":"o-1"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var poison error
			h := durablefunc.Dispatch("pay", handlers.Kinesis, nil, durablefunc.StartExecution[handlers.KinesisRecord[order]](c.client, nil), &handlers.KinesisOptions{
				OnFailure: func(context.Context, *handlers.RecordError) {},
				Poison:    func(_ context.Context, _ events.KinesisEventRecord, err error) error { poison = err; return nil },
			})
			_, err := h(t.Context(), events.KinesisEvent{Records: []events.KinesisEventRecord{{
				EventID: "shard:1", EventSource: "aws:kinesis", EventSourceArn: "arn:stream", Kinesis: events.KinesisRecord{SequenceNumber: "1", Data: []byte(c.body)},
			}}})
			check.Nil(t, err)
			check.Is(t, poison, c.why)
			check.Equal(t, c.why == nil, poison == nil)
		})
	}
}

func TestInputIsLimitedAsAnAsynchronousPayload(t *testing.T) {
	s := &startService{}
	overhead := len(`{"id":"o-1","pad":""}`)
	largest := `{"id":"o-1","pad":"` + strings.Repeat("x", 1<<20-overhead) + `"}`
	wantReported(t, s, nil, []events.SQSMessage{sqsMessage("m1", largest, "1")})
	wantReported(t, s, durablefunc.ErrExecutionInput, []events.SQSMessage{sqsMessage("m2", strings.Replace(largest, "o-1", "o-22", 1), "1")}, "m2")
	started := s.started()
	check.Equal(t, len(started), 1)
	check.Equal(t, s.starts, 1)
	check.Says(t, dispatched(t, s, largest+" "), "1048577 bytes, more than the 1048576")
}

// Each source sends the innermost body, and keeps its own key.
func TestEverySourceStartsExecutions(t *testing.T) {
	for name, c := range map[string]struct {
		handler func(*startService) any
		want    string
	}{
		"sns.json":          {func(s *startService) any { return dispatch(s, handlers.SNS[order]) }, ""},
		"eventbridge.json":  {func(s *startService) any { return dispatch(s, handlers.EventBridge[order]) }, ""},
		"kinesis.json":      {func(s *startService) any { return dispatch(s, handlers.Kinesis[order]) }, ""},
		"kafka-msk.json":    {func(s *startService) any { return dispatch(s, handlers.Kafka[order]) }, ""},
		"activemq.json":     {func(s *startService) any { return dispatch(s, handlers.ActiveMQ[order]) }, ""},
		"sqs-from-sns.json": {func(s *startService) any { return dispatch(s, handlers.SQS[handlers.FromSNS[order]]) }, ""},
		"sqs.json":          {func(s *startService) any { return dispatch(s, handlers.SQS[string]) }, `"`},
		"s3.json":           {func(s *startService) any { return dispatchS3(s) }, `{"object"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := &startService{}
			for range 2 {
				_, err := handlertest.Deliver(t.Context(), c.handler(s), golden(t, "../../testdata/"+name))
				check.Must(t, err)
			}
			started := s.started()
			check.Differ(t, len(started), 0)
			check.True(t, s.starts >= 2*len(started), s.starts)
			for _, input := range started {
				if c.want == "" {
					c.want = `{"id"`
				}
				check.True(t, strings.HasPrefix(strings.Join(strings.Fields(input), ""), c.want))
			}
		})
	}
}

func dispatch[E, T, O, H any](s *startService, source func(*idempotent.Executor, func(handlers.Delivery[E, T]) (idempotent.Key, error), func(context.Context, handlers.Delivery[E, T]) error, O) H) H {
	var o O
	return durablefunc.Dispatch("pay", source, nil, durablefunc.StartExecution[handlers.Delivery[E, T]](s, nil), o)
}

func dispatchS3(s *startService) func(context.Context, handlers.S3Event) error {
	return durablefunc.Dispatch("pay", handlers.S3, nil, durablefunc.StartExecution(s, func(r events.S3EventRecord) ([]byte, error) {
		return fmt.Appendf(nil, `{"object":%q}`, r.S3.Object.Key), nil
	}), nil)
}

// With an executor of its own, a dispatcher's record outlives the history.
func TestRecordOutlivesTheNameOfItsExecution(t *testing.T) {
	x, err := idempotent.New("pay", memory.New(0), nil)
	check.Must(t, err)
	s := &startService{}
	h := handlers.SQS(x, orderOf, durablefunc.StartExecution[handlers.SQSMessage[order]](s, nil), nil)
	for range 2 {
		event := events.SQSEvent{Records: []events.SQSMessage{sqsMessage("m1", `{"id":"o-1"}`, "1")}}
		response, err := h(t.Context(), event)
		check.Must(t, err)
		check.Equal(t, len(response.BatchItemFailures), 0)
		s.inputs = nil // the service has forgotten it
	}
	check.Equal(t, s.starts, 1)
}

func TestNameIsTheSameWithoutTheStore(t *testing.T) {
	s := &startService{}
	wantReported(t, s, nil, []events.SQSMessage{sqsMessage("m1", `{"id":"o-1"}`, "1")})
	t.Setenv("ONCE_DISABLED", "true")
	wantReported(t, s, nil, []events.SQSMessage{sqsMessage("m1", `{"id":"o-1"}`, "2")})
	started := s.started()
	check.Equal(t, len(started), 1)
	check.Equal(t, s.starts, 2)
}

// Without a key, each delivery would start an execution of its own.
func TestStartNeedsACallWithAKey(t *testing.T) {
	s := &startService{}
	start := durablefunc.StartExecution[handlers.SQSMessage[order]](s, nil)
	for name, ctx := range map[string]context.Context{"none": t.Context(), "unprotected": idempotent.Unprotected(t.Context())} {
		err := start(ctx, handlers.SQSMessage[order]{})
		check.Is(t, err, idempotent.ErrMissingKey, name)
		check.True(t, s.starts <= 0, s.starts, name)
	}
}

// The name of a key is the same in every version: the service compares it with
// those of earlier deliveries.
func TestExecutionNameIsTheSameInEveryVersion(t *testing.T) {
	const want = "b79057bcb5854350ca6da71d03c6adf48426afc44a9739dcb2d083608c77f808"
	name, err := durablefunc.ExecutionName("pay", idempotent.Key{ID: "o-1"})
	check.Nil(t, err)
	check.Equal(t, name, want)
	x, err := idempotent.New("pay", memory.New(0), nil)
	check.Must(t, err)
	key := idempotent.Key{Record: "pay#theirs"}
	s := &startService{}
	start := durablefunc.StartExecution(s, func([]byte) ([]byte, error) { return []byte(`{}`), nil })
	_, err = idempotent.Do(t.Context(), x, key, func(ctx context.Context) (bool, error) { return true, start(ctx, nil) })
	check.Must(t, err)
	name, err = durablefunc.ExecutionName("pay", key)
	check.Nil(t, err)
	check.Differ(t, s.inputs[name], "")
	_, err = durablefunc.ExecutionName("pay", idempotent.Key{})
	check.Is(t, err, idempotent.ErrMissingKey)
}

func TestStartExecutionPanics(t *testing.T) {
	for name, construct := range map[string]func(){
		"the client is nil":                func() { durablefunc.StartExecution[handlers.SQSMessage[order]](nil, nil) },
		"has no body of its own":           func() { durablefunc.StartExecution[events.S3EventRecord](&startService{}, nil) },
		"StartWorkflow: the client is nil": func() { durablefunc.StartWorkflow[handlers.SQSMessage[order]](nil, machine, nil) },
		"is not the ARN of a state machine": func() {
			durablefunc.StartWorkflow[handlers.SQSMessage[order]](&workflows{}, strings.Replace(machine, "stateMachine", "execution", 1), nil)
		},
		"operation": func() {
			durablefunc.Dispatch("a#b", handlers.SQS, orderOf, durablefunc.StartExecution[handlers.SQSMessage[order]](&startService{}, nil), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() { check.Contains(t, fmt.Sprint(recover()), name) }()
			construct()
		})
	}
}

// It has no records whose retention could be too short.
func TestDispatcherDoesNotWarnOfRecords(t *testing.T) {
	lines := handlertest.Logged(t, func() { dispatch(&startService{}, handlers.SQS[order]) })
	check.Equal(t, len(lines), 0)
}
