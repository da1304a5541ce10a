package durable_test

import (
	"context"
	"errors"
	"testing"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/proof/durable"
)

// dispatcher is an ordinary function on a queue, in front of the durable one.
type dispatcher struct {
	*durable.Names
	handler func(context.Context, lambdaevents.SQSEvent) (lambdaevents.SQSEventResponse, error)
	failed  error // of the last message
}

func (w *world) dispatcher(client func(*durable.Names) durablefunc.ExecutionStarter) *dispatcher {
	d := &dispatcher{Names: &durable.Names{Service: w.Service}}
	start := durablefunc.StartExecution[handlers.SQSMessage[order]](client(d.Names), nil)
	key := func(m handlers.SQSMessage[order]) (idempotent.Key, error) { return w.orderID(m.Body) }
	d.handler = durablefunc.Dispatch("pay", handlers.SQS, key, start, &handlers.SQSOptions{
		OnFailure: func(_ context.Context, e *handlers.RecordError) { d.failed = e },
	})
	return d
}

// deliverTo delivers a message, and reports whether it was acknowledged.
func (w *world) deliverTo(d *dispatcher, receives, body string) (acknowledged bool) {
	w.Helper()
	d.failed = nil
	response, err := d.handler(w.Context(), lambdaevents.SQSEvent{Records: []lambdaevents.SQSMessage{{
		MessageId: "m-1", EventSource: "aws:sqs", Body: body, Attributes: map[string]string{"ApproximateReceiveCount": receives},
	}}})
	if err != nil {
		w.Fatal(err)
	}
	return len(response.BatchItemFailures) == 0
}

func (w *world) wantExecutions(d *dispatcher, n int) {
	w.Helper()
	if all := d.Executions(); len(all) != n {
		w.Errorf("%d executions, want %d", len(all), n)
	}
}

func alone(n *durable.Names) durablefunc.ExecutionStarter {
	return struct{ durablefunc.ExecutionStarter }{n} // without ExecutionInput
}

func reading(n *durable.Names) durablefunc.ExecutionStarter { return n }

// The source waits for the start only, however long the execution takes.
func TestDispatcherStartsOneExecutionForEachKey(t *testing.T) {
	inMemory(t, func(w *world) {
		w.deploy(w.pay)
		d := w.dispatcher(alone)
		for _, receives := range []string{"1", "2", "3"} {
			if !w.deliverTo(d, receives, theOrder) {
				w.Errorf("delivery %s: %v", receives, d.failed)
			}
		}
		w.wantExecutions(d, 1)
		w.wantSuccess(d.Executions()[0].Run(w.Context()))
		if !w.deliverTo(d, "4", theOrder) { // it has ended
			w.Error(d.failed)
		}
		w.wantExecutions(d, 1)
		w.wantEffects(1)
	})
}

func TestReusedKeyStartsNoExecution(t *testing.T) {
	for name, client := range map[string]func(*durable.Names) durablefunc.ExecutionStarter{"alone": alone, "reading": reading} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(w *world) {
				w.deploy(w.pay)
				d := w.dispatcher(client)
				var exists *durablefunc.ExecutionExistsError
				if w.deliverTo(d, "1", theOrder); w.deliverTo(d, "1", `{"ID":"o-1","Cents":9900}`) {
					w.Error("another payload was taken for a duplicate")
				}
				if !errors.As(d.failed, &exists) || exists.KeyReused != (name == "reading") {
					w.Errorf("failed with %v", d.failed)
				}
				w.wantExecutions(d, 1)
			})
		})
	}
}

// The service compares versions, too. Only the input tells a duplicate from a
// key that was used again.
func TestDuplicateAfterADeploymentIsRecognized(t *testing.T) {
	inMemory(t, func(w *world) {
		w.deploy(w.pay)
		for name, client := range map[string]func(*durable.Names) durablefunc.ExecutionStarter{"alone": alone, "reading": reading} {
			d := w.dispatcher(client)
			w.deliverTo(d, "1", theOrder)
			d.Deploy()
			if acknowledged := w.deliverTo(d, "2", theOrder); acknowledged != (name == "reading") {
				w.Errorf("%s: acknowledged is %t: %v", name, acknowledged, d.failed)
			}
			w.wantExecutions(d, 1)
		}
	})
}

// When the history is gone, a second execution starts. The record of the durable
// function answers it.
func TestRecordAnswersWhenTheNameIsForgotten(t *testing.T) {
	inMemory(t, func(w *world) {
		w.deploy(w.pay)
		d := w.dispatcher(alone)
		for range 2 {
			w.deliverTo(d, "1", theOrder)
			w.wantSuccess(d.Executions()[0].Run(w.Context()))
			d.Forget()
		}
		w.wantEffects(1)
	})
}
