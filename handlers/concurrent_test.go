package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// A Lambda managed instance gives one process several invocations at a time.
// This is the loop of aws-lambda-go itself, in a process of its own with the
// race detector of the test, against a Runtime API that hands out the events.

const concurrentFunction = "ONCE_CONCURRENT_FUNCTION"

func TestMain(m *testing.M) {
	if name := os.Getenv(concurrentFunction); name != "" {
		x, err := idempotent.New("place-order", memory.New(0), &idempotent.Config{Wait: 10 * time.Second})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		lambda.Start(concurrentFunctions(x)[name])
		return
	}
	os.Exit(m.Run())
}

// concurrentFunctions share one executor. Each order is placed once, or the
// invocation fails.
func concurrentFunctions(x *idempotent.Executor) map[string]any {
	s := &shop{}
	once := func(id string) error {
		if err := s.place(order{ID: id}); err != nil {
			return err
		}
		if n := s.placed()[id]; n != 1 {
			return fmt.Errorf("%s is placed %d times", id, n)
		}
		return nil
	}
	return map[string]any{
		"sqs":         handlers.SQS(x, nil, onceEach[events.SQSMessage](once), &handlers.SQSOptions{Concurrency: 4}),
		"sqs-fifo":    handlers.SQS(x, nil, onceEach[events.SQSMessage](once), &handlers.SQSOptions{Concurrency: 4}),
		"sns":         handlers.SNS(x, nil, onceEach[events.SNSEventRecord](once), &handlers.EventOptions{Concurrency: 4}),
		"eventbridge": handlers.EventBridge(x, nil, onceEach[events.EventBridgeEvent](once), nil),
		"kinesis":     handlers.Kinesis(x, nil, onceEach[events.KinesisEventRecord](once), &handlers.KinesisOptions{Concurrency: 4}),
		"kafka-msk":   handlers.Kafka(x, nil, onceEach[events.KafkaRecord](once), &handlers.KafkaOptions{Concurrency: 4}),
		"rabbitmq":    handlers.RabbitMQ(x, handlers.RabbitMQMessageID[order](), onceEach[events.RabbitMQMessage](once), &handlers.EventOptions{Concurrency: 4}),
		"activemq":    handlers.ActiveMQ(x, nil, onceEach[events.ActiveMQMessage](once), &handlers.EventOptions{Concurrency: 4}),
		"s3":          handlers.S3(x, nil, func(_ context.Context, r events.S3EventRecord) error { return once(r.S3.Object.Key) }, &handlers.EventOptions{Concurrency: 4}),
		"dynamodb-stream": handlers.DynamoDBStream(x, nil, func(_ context.Context, r events.DynamoDBEventRecord) error { return once(r.EventID) },
			&handlers.DynamoDBStreamOptions{Concurrency: 4}),
		"outbox": relay.Outbox(func(context.Context, string, []driver.OutboxMessage) ([]error, error) { return nil, nil },
			&relay.Options{Concurrency: 4, Mark: func(context.Context, []driver.OutboxKey) error { return nil }}),
	}
}

func onceEach[E any](once func(id string) error) func(context.Context, handlers.Delivery[E, order]) error {
	return func(_ context.Context, d handlers.Delivery[E, order]) error { return once(d.Body.ID) }
}

// TestConcurrentInvocations delivers the golden event of every source many
// times over. HTTP has its own.
func TestConcurrentInvocations(t *testing.T) {
	const invocations = 32
	for name := range concurrentFunctions(newExecutor(t, memory.New(0), nil)) {
		t.Run(name, func(t *testing.T) {
			event := golden(t, strings.Replace(name, "outbox", "../relay/testdata/outbox", 1)+".json")
			api := newRuntimeAPI()
			server := httptest.NewServer(api)
			defer server.Close()
			function := exec.Command(os.Args[0])
			function.Env = append(os.Environ(), concurrentFunction+"="+name, "AWS_LAMBDA_MAX_CONCURRENCY=8",
				"AWS_LAMBDA_FUNCTION_NAME="+name, "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(server.URL, "http://"))
			var output strings.Builder
			function.Stdout, function.Stderr = &output, &output
			check.Must(t, function.Start())
			var callers sync.WaitGroup
			for range invocations {
				callers.Go(func() {
					answer, err := api.invoke(event)
					if err != nil || answer != "null" && answer != string(golden(t, "none.answer.json")) {
						t.Errorf("%s, %v", answer, err)
					}
				})
			}
			callers.Wait()
			check.Equal(t, api.mostAtOnce(), 8)
			check.Nil(t, function.Process.Kill())
			check.Failed(t, function.Wait())
			check.Lacks(t, output.String(), "DATA RACE")
		})
	}
}

// runtimeAPI is Lambda's side of a function with several pollers.
type runtimeAPI struct {
	http.ServeMux
	work chan *invocation

	mu      sync.Mutex
	running map[string]*invocation
	started int
	most    int
	full    chan struct{} // closed when eight run at once
}

type invocation struct {
	event []byte
	ended chan ending
}

type ending struct {
	answer string
	err    error
}

func newRuntimeAPI() *runtimeAPI {
	a := &runtimeAPI{work: make(chan *invocation), running: map[string]*invocation{}, full: make(chan struct{})}
	a.HandleFunc("GET /2018-06-01/runtime/invocation/next", a.next)
	a.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		a.end(w, r, ending{strings.TrimSpace(string(text)), err})
	})
	a.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		a.end(w, r, ending{"", errors.Join(fmt.Errorf("the function failed: %s", text), err)})
	})
	return a
}

func (a *runtimeAPI) invoke(event []byte) (string, error) {
	i := &invocation{event: event, ended: make(chan ending, 1)}
	a.work <- i
	e := <-i.ended
	return e.answer, e.err
}

// next holds the first eight back until all are there, so that they do run at
// once.
func (a *runtimeAPI) next(w http.ResponseWriter, r *http.Request) {
	select {
	case <-r.Context().Done():
	case i := <-a.work:
		a.mu.Lock()
		a.started++
		id := fmt.Sprint("request-", a.started)
		a.running[id] = i
		if a.most = max(a.most, len(a.running)); a.started == 8 {
			close(a.full)
		}
		a.mu.Unlock()
		<-a.full
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", id)
		w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()))
		if _, err := w.Write(i.event); err != nil {
			i.ended <- ending{err: err}
		}
	}
}

func (a *runtimeAPI) end(w http.ResponseWriter, r *http.Request, e ending) {
	a.mu.Lock()
	i := a.running[r.PathValue("id")]
	delete(a.running, r.PathValue("id"))
	a.mu.Unlock()
	w.WriteHeader(http.StatusAccepted)
	i.ended <- e
}

func (a *runtimeAPI) mostAtOnce() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.most
}
