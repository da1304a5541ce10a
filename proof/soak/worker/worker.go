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
	"github.com/lambda-once/once/proof/internal/function"
	"github.com/lambda-once/once/proof/soak/internal/job"
)

// duplicateWait is how long a record waits for a duplicate: not until the lease of a
// dead owner lapses, because its batch would wait with it.
const duplicateWait = 300 * time.Millisecond

// worker contains the protected functions.
type worker struct {
	job.Settings
	connections *http.Transport
	client      *dynamodb.Client // past the weather
	direct      *dynamo.Store    // past the weather

	calls  map[job.Kind]func(context.Context, job.Request) (job.Result, error)
	queue  func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)
	stream func(context.Context, events.KinesisEvent) (events.KinesisEventResponse, error)
}

func newWorker(s job.Settings) (*worker, error) {
	w := &worker{Settings: s, connections: &http.Transport{MaxIdleConnsPerHost: 32}}
	shared := &http.Client{Transport: w.connections}
	w.client = function.ClientOf(s.Direct, shared)
	store, err := dynamo.New(function.ClientOf(s.Endpoint, shared), s.Records, &dynamo.Options{Group: s.Group})
	if err != nil {
		return nil, err
	}
	if w.direct, err = dynamo.New(w.client, s.Records, nil); err != nil {
		return nil, err
	}
	x, err := executors(store, s)
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
			Concurrency: s.Concurrency, Ahead: s.Ahead, Unrecorded: s.Unrecorded, OnFailure: recordFailed, Wait: duplicateWait,
		})
	w.stream = handlers.Kinesis(x[job.Stream],
		func(r handlers.KinesisRecord[job.Request]) (idempotent.Key, error) { return key(r.Body) },
		func(ctx context.Context, r handlers.KinesisRecord[job.Request]) error { return w.record(ctx, r.Body) },
		&handlers.KinesisOptions{
			Concurrency: s.Concurrency, Ahead: s.Ahead, Unrecorded: s.Unrecorded, OnFailure: recordFailed, Wait: duplicateWait,
		})
	return w, nil
}

// executors returns one for each kind.
func executors(store *dynamo.Store, s job.Settings) (map[job.Kind]*idempotent.Executor, error) {
	x := map[job.Kind]*idempotent.Executor{}
	var errs []error
	for _, kind := range job.Kinds {
		one, err := idempotent.New(string(kind), store, &idempotent.Config{
			Lease: s.Lease, ClockSkew: s.ClockSkew, Reserve: s.Reserve, Wait: s.Wait, CacheEntries: s.CacheEntries,
			ReadFirst: s.ReadFirst, Optimistic: kind == job.Optimistic, Observer: observer{},
		})
		errs = append(errs, err)
		x[kind] = one
	}
	return x, errors.Join(errs...)
}
