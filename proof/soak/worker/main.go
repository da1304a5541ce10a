// Command worker is a process of the soak test. It runs protected functions for
// deliveries that it receives by HTTP, until it is killed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"time"

	"github.com/lambda-once/once/proof/soak/internal/job"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

func serve() error {
	s, err := job.SettingsFromEnv()
	if err != nil {
		return err
	}
	w, err := newWorker(s)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /deliver", func(out http.ResponseWriter, in *http.Request) {
		var d job.Delivery
		if err := json.NewDecoder(in.Body).Decode(&d); err != nil {
			http.Error(out, err.Error(), http.StatusBadRequest)
			return
		}
		answer(out, w.deliver(d))
	})
	mux.HandleFunc("GET /sample", func(out http.ResponseWriter, _ *http.Request) {
		w.connections.CloseIdleConnections()
		answer(out, sample())
	})
	// The test waits for this line, the first.
	fmt.Printf("listening on http://%s\n", l.Addr())
	return (&http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}).Serve(l)
}

func answer(out http.ResponseWriter, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		http.Error(out, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = out.Write(text) // a test that has left notices itself
}

func sample() job.Sample {
	// Twice, because what a pool drops survives the first collection.
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return job.Sample{Goroutines: runtime.NumGoroutine(), Heap: m.HeapAlloc}
}

// deliver makes the calls of a delivery, and reports what they returned. The
// deadline is that of an invocation.
func (w *worker) deliver(d job.Delivery) job.Report {
	ctx, cancel := context.WithTimeout(context.Background(), w.Timeout)
	defer cancel()
	j := &journal{delivery: d.ID, stumbled: map[string]bool{}}
	report := w.call(context.WithValue(ctx, journalKey{}, j), d)
	return j.complete(report)
}

func (w *worker) call(ctx context.Context, d job.Delivery) (r job.Report) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case any(errBusy):
			r.Error = &job.Failure{Type: "panic", Text: errBusy.Error()}
		default:
			r.Trouble = fmt.Sprintf("a call panics: %v", p)
		}
	}()
	switch d.Kind {
	case job.Queue:
		return reportBatch(ctx, d, w.queue)
	case job.Stream:
		return reportBatch(ctx, d, w.stream)
	}
	var request job.Request
	if err := json.Unmarshal(d.Event, &request); err != nil {
		return job.Report{Trouble: err.Error()}
	}
	call, ok := w.calls[d.Kind]
	if !ok {
		return job.Report{Trouble: fmt.Sprintf("unknown kind %q", d.Kind)}
	}
	result, err := call(ctx, request)
	if err != nil {
		return job.Report{Error: failure("", err)}
	}
	if r.Digest, err = result.Digest(); err != nil {
		return job.Report{Trouble: err.Error()}
	}
	result.Blob = ""
	r.Result = &result
	return r
}

// reportBatch hands an event of Lambda to a handler of batches, whose answers
// have one form.
func reportBatch[Event, Answer any](ctx context.Context, d job.Delivery, handle func(context.Context, Event) (Answer, error)) (r job.Report) {
	var event Event
	if err := json.Unmarshal(d.Event, &event); err != nil {
		return job.Report{Trouble: err.Error()}
	}
	answer, err := handle(ctx, event)
	if err != nil {
		return job.Report{Error: failure("", err)}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return job.Report{Trouble: err.Error()}
	}
	var items struct {
		BatchItemFailures []struct {
			ItemIdentifier string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(text, &items); err != nil {
		return job.Report{Trouble: err.Error()}
	}
	for _, item := range items.BatchItemFailures {
		r.Failed = append(r.Failed, item.ItemIdentifier)
	}
	return r
}

func failure(id string, err error) *job.Failure {
	declined := errors.Is(err, errDeclined)
	return &job.Failure{ID: id, Type: fmt.Sprintf("%T", err), Text: err.Error(), Declined: declined || replaysDecline(err)}
}
