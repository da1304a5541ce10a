package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/proof/soak/internal/job"
)

// duplicateWait is how long a record waits for a duplicate: not until the lease of a
// dead owner lapses, because its batch would wait with it.
const duplicateWait = 300 * time.Millisecond

// worker contains the protected functions.
type worker struct {
	settings
	connections *http.Transport
	client      *dynamodb.Client // past the weather
	direct      *dynamo.Store    // past the weather

	calls  map[job.Kind]func(context.Context, job.Request) (job.Result, error)
	queue  func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)
	stream func(context.Context, events.KinesisEvent) (events.KinesisEventResponse, error)
}

func newWorker(s settings) (*worker, error) {
	w := &worker{settings: s, connections: &http.Transport{MaxIdleConnsPerHost: 32}}
	w.client = newClient(s.direct, w.connections)
	store, err := dynamo.New(newClient(s.endpoint, w.connections), s.records, &s.store)
	if err != nil {
		return nil, err
	}
	if w.direct, err = dynamo.New(w.client, s.records, nil); err != nil {
		return nil, err
	}
	x, err := executors(store, s.config)
	if err != nil {
		return nil, err
	}
	key := func(r job.Request) (idempotent.Key, error) { return idempotent.Key{ID: r.Key, Payload: r}, nil }
	w.calls = map[job.Kind]func(context.Context, job.Request) (job.Result, error){
		job.Do: func(ctx context.Context, r job.Request) (job.Result, error) {
			k, err := key(r)
			if err != nil {
				return job.Result{}, err
			}
			return idempotent.Do(ctx, x[job.Do], k, func(ctx context.Context) (job.Result, error) { return w.plain(ctx, r) })
		},
		job.Wrap:        idempotent.Wrap(x[job.Wrap], key, w.plain),
		job.Steps:       idempotent.Wrap(x[job.Steps], key, w.steps),
		job.Saga:        idempotent.Wrap(x[job.Saga], key, w.saga),
		job.Transaction: idempotent.Wrap(x[job.Transaction], key, w.transaction),
		job.Optimistic:  idempotent.Wrap(x[job.Optimistic], key, w.transaction),
	}
	w.queue = handlers.SQS(x[job.Queue],
		func(m handlers.SQSMessage[job.Request]) (idempotent.Key, error) { return key(m.Body) },
		func(ctx context.Context, m handlers.SQSMessage[job.Request]) error { return w.record(ctx, m.Body) },
		&handlers.SQSOptions{
			Concurrency: s.concurrency, Ahead: s.ahead, Unrecorded: s.unrecorded, OnFailure: recordFailed, Wait: duplicateWait,
		})
	w.stream = handlers.Kinesis(x[job.Stream],
		func(r handlers.KinesisRecord[job.Request]) (idempotent.Key, error) { return key(r.Body) },
		func(ctx context.Context, r handlers.KinesisRecord[job.Request]) error { return w.record(ctx, r.Body) },
		&handlers.KinesisOptions{
			Concurrency: s.concurrency, Ahead: s.ahead, Unrecorded: s.unrecorded, OnFailure: recordFailed, Wait: duplicateWait,
		})
	return w, nil
}

// executors returns one for each kind.
func executors(store *dynamo.Store, config idempotent.Config) (map[job.Kind]*idempotent.Executor, error) {
	x := map[job.Kind]*idempotent.Executor{}
	var errs []error
	for _, kind := range job.Kinds {
		c := config
		c.Observer = observer{}
		c.Optimistic = kind == job.Optimistic
		one, err := idempotent.New(string(kind), store, &c)
		errs = append(errs, err)
		x[kind] = one
	}
	return x, errors.Join(errs...)
}
