// Package worker is a process of the soak test. It runs protected functions for the
// deliveries of the test, which it calls when it starts, until it is killed.
package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/rpc"
	"os"
	"runtime"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/proof/internal/function"
)

// SettingsVar is the environment variable with the settings, as JSON, for the program
// that is to become a worker.
const SettingsVar = "SOAK_SETTINGS"

// Serve runs a worker and exits, if the environment of this process has the settings
// of one.
func Serve() {
	text, ok := os.LookupEnv(SettingsVar)
	if !ok {
		return
	}
	if err := serve(text); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(settings string) error {
	var s Settings
	if err := json.Unmarshal([]byte(settings), &s); err != nil {
		return err
	}
	w, err := newWorker(s)
	if err != nil {
		return err
	}
	conn, err := net.Dial("tcp", s.Test)
	if err != nil {
		return err
	}
	server := rpc.NewServer()
	if err := server.RegisterName("worker", w); err != nil {
		return err
	}
	server.ServeConn(conn)
	return nil
}

const (
	// Lease is that of all calls that do not run as on Lambda.
	Lease     = 2 * time.Second
	clockSkew = 100 * time.Millisecond
	reserve   = 200 * time.Millisecond
	// timeout is that of a delivery, and on Lambda also the lease.
	timeout = 4 * time.Second
	// duplicateWait is how long a record waits for a duplicate: not until the lease of
	// a dead owner lapses, because its batch would wait with it.
	duplicateWait = 300 * time.Millisecond
)

// worker contains the protected functions.
type worker struct {
	Settings
	connections *http.Transport
	client      *dynamodb.Client // past the weather
	direct      *dynamo.Store    // past the weather
	functions   map[Kind]any     // for Lambda
}

func newWorker(s Settings) (*worker, error) {
	w := &worker{Settings: s, connections: &http.Transport{MaxIdleConnsPerHost: 32}, functions: map[Kind]any{}}
	shared := &http.Client{Transport: w.connections}
	w.client = function.ClientOf(s.Direct, shared)
	store, err := dynamo.New(function.ClientOf(s.Endpoint, shared), s.Records, &dynamo.Options{Group: s.Group})
	if err != nil {
		return nil, err
	}
	if w.direct, err = dynamo.New(w.client, s.Records, nil); err != nil {
		return nil, err
	}
	for _, kind := range Kinds {
		x, err := idempotent.New(string(kind), store, &idempotent.Config{
			Lease: Lease, ClockSkew: clockSkew, Reserve: reserve, Wait: s.Wait, CacheEntries: s.CacheEntries,
			ReadFirst: s.ReadFirst, Optimistic: kind == Optimistic, Observer: observer{},
		})
		if err != nil {
			return nil, err
		}
		w.functions[kind] = w.protect(kind, x)
	}
	return w, nil
}

// protect returns the function of a kind, as one for Lambda.
func (w *worker) protect(kind Kind, x *idempotent.Executor) any {
	key := func(r Request) (idempotent.Key, error) { return idempotent.Key{ID: r.Key, Payload: r}, nil }
	switch kind {
	case Do:
		return func(ctx context.Context, r Request) (Result, error) {
			k := idempotent.Key{ID: r.Key, Payload: r}
			return idempotent.Do(ctx, x, k, func(ctx context.Context) (Result, error) { return w.work(ctx, r) })
		}
	case Queue:
		return handlers.SQS(x,
			func(m handlers.SQSMessage[Request]) (idempotent.Key, error) { return key(m.Body) },
			func(ctx context.Context, m handlers.SQSMessage[Request]) error { return w.record(ctx, m.Body) },
			&handlers.SQSOptions{
				Concurrency: w.Concurrency, Ahead: w.Ahead, Unrecorded: w.Unrecorded, OnFailure: recordFailed, Wait: duplicateWait,
			})
	case Stream:
		return handlers.Kinesis(x,
			func(r handlers.KinesisRecord[Request]) (idempotent.Key, error) { return key(r.Body) },
			func(ctx context.Context, r handlers.KinesisRecord[Request]) error { return w.record(ctx, r.Body) },
			&handlers.KinesisOptions{
				Concurrency: w.Concurrency, Ahead: w.Ahead, Unrecorded: w.Unrecorded, OnFailure: recordFailed, Wait: duplicateWait,
			})
	}
	return idempotent.Wrap(x, key, w.work)
}

// Deliver makes the calls of a delivery, and reports their results. The deadline
// is that of an invocation.
func (w *worker) Deliver(d Delivery, r *Report) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	j := &journal{delivery: d.ID, stumbled: map[string]bool{}}
	// The bytes that a Handler returns are of a buffer that its next call may already fill.
	// So each delivery has a Handler of its own.
	out, failed := invoke(context.WithValue(ctx, journalKey{}, j), lambda.NewHandler(w.functions[d.Kind]), d.Event)
	var err error
	switch {
	case failed != nil:
		r.Error = failed
	case d.Kind.Batched():
		var answer events.SQSEventResponse // that of a stream has the same form
		err = json.Unmarshal(out, &answer)
		for _, item := range answer.BatchItemFailures {
			r.Failed = append(r.Failed, item.ItemIdentifier)
		}
	default:
		r.Result = &Result{}
		err = json.Unmarshal(out, r.Result)
		r.Digest, r.Result.Blob = r.Result.Digest(), ""
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	r.Ends, r.Failures = j.ends, j.failures
	if err := errors.Join(j.trouble, err); err != nil {
		r.Trouble = err.Error()
	}
	return nil
}

// Sample measures the worker, which must be idle.
func (w *worker) Sample(_ int, s *Sample) error {
	w.connections.CloseIdleConnections()
	// Twice, because objects of a pool survive the first collection.
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	*s = Sample{Goroutines: runtime.NumGoroutine(), Heap: m.HeapAlloc}
	return nil
}

// invoke also returns a panic as a failure. One of work that stumbles is expected.
func invoke(ctx context.Context, h lambda.Handler, event []byte) (out []byte, f *Failure) {
	defer func() {
		if p := recover(); p != nil {
			f = &Failure{Type: "panic", Text: fmt.Sprint(p)}
		}
	}()
	out, err := h.Invoke(ctx, event)
	if err != nil {
		return nil, failure("", err)
	}
	return out, nil
}

func failure(id string, err error) *Failure {
	declined := errors.Is(err, errDeclined)
	if replayed, ok := errors.AsType[*idempotent.ReplayedError](err); ok {
		declined = replayed.Type == "DeclinedError" && replayed.Message == errDeclined.Error()
	}
	return &Failure{ID: id, Type: fmt.Sprintf("%T", err), Text: err.Error(), Declined: declined}
}
