package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lambda-once/once/idempotent"
)

// payment is the request of a call, and the body of a message.
type payment struct {
	ID       string `json:"id"`
	Customer string `json:"customer"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

type receipt struct {
	Charge string `json:"charge"`
}

type handler = func(context.Context, payment) (receipt, error)

func paymentOf(keys string, i int) payment {
	return payment{ID: fmt.Sprintf("%s-%d", keys, i), Customer: "cus_4711", Amount: 129900, Currency: "EUR"}
}

func paymentKey(p payment) (idempotent.Key, error) {
	return idempotent.Key{Scope: p.Customer, ID: p.ID, Payload: p}, nil
}

// invoke makes a call with a deadline, as Lambda's have.
func invoke[In, Out any](call func(context.Context, In) (Out, error), in In) (Out, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return call(ctx, in)
}

// work is what is protected: it does nothing but return a receipt.
type work struct {
	uneven bool // takes 1 to 50 ms
	runs   atomic.Int64
	// While goOn is not nil, a run sends on started and waits until goOn is closed.
	started, goOn chan bool
}

func (w *work) run(context.Context, payment) (receipt, error) {
	n := w.runs.Add(1)
	if w.uneven {
		time.Sleep(time.Duration(1+n*17%50) * time.Millisecond)
	}
	if w.goOn != nil {
		w.started <- true
		<-w.goOn
	}
	return receipt{"ch_8e03978e4b5f"}, nil
}

// hold makes n calls whose handlers run until release is called.
func (w *work) hold(n int, call func(i int) error) (release func() error, err error) {
	w.started, w.goOn = make(chan bool), make(chan bool)
	running, failed := errgroup.WithContext(context.Background())
	for i := range n {
		running.Go(func() error {
			err := call(i)
			select {
			case <-w.goOn:
				return err
			default:
				return fmt.Errorf("a call did not run: %v", err)
			}
		})
	}
	for range n {
		select {
		case <-w.started:
		case <-failed.Done():
			return nil, context.Cause(failed)
		}
	}
	return func() error {
		close(w.goOn)
		err := running.Wait()
		w.goOn = nil
		return err
	}, nil
}

// parallel calls do with each number below n, by so many callers.
func parallel(callers, n int, do func(i int) error) error {
	var next atomic.Int64
	var running errgroup.Group
	for range min(callers, n) {
		running.Go(func() error {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := do(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return running.Wait()
}

// expected is what an operation of a benchmark has to do.
type expected struct {
	runs     int // of the handler
	requests int // or -1: it depends on time
}

// measure makes the operations of a benchmark, and reports what each takes from this
// process. It fails the benchmark if the handler runs more or less often than it should,
// or if a single operation has more or fewer round trips.
func (s *series) measure(b *testing.B, callers int, w *work, want expected, do func(i int) error) {
	b.ReportAllocs()
	w.runs.Store(0)
	b.ResetTimer()
	sent, cpu := s.sent.Load(), cpuTime()
	err := parallel(callers, b.N, do)
	cpu = cpuTime() - cpu
	b.StopTimer()
	sent = s.sent.Load() - sent
	b.ReportMetric(float64(cpu)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(sent)/float64(b.N), "requests/op")
	switch runs := int(w.runs.Load()); {
	case err != nil:
		b.Fatal(err)
	case runs != want.runs*b.N:
		b.Fatalf("the handler ran %d times in %d operations, want %d each", runs, b.N, want.runs)
	case b.N == 1 && want.requests >= 0 && int(sent) != want.requests:
		b.Fatalf("%d round trips, want %d", sent, want.requests)
	}
}

// limited sets GOMAXPROCS for a series that has one processor, until restore is called.
func (s *series) limited() (restore func()) {
	if !s.oneCPU {
		return func() {}
	}
	before := runtime.GOMAXPROCS(1)
	return func() { runtime.GOMAXPROCS(before) }
}

// cpuTime is the time that this process has run, user and system.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // of the arguments alone
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// must fails the benchmark if any of errs is an error.
func must(tb testing.TB, errs ...error) {
	tb.Helper()
	if err := errors.Join(errs...); err != nil {
		tb.Fatal(err)
	}
}
