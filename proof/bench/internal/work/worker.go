package work

import (
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"net/rpc/jsonrpc"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// A Worker makes the calls of one series. Its connections outlive its jobs, end with the
// process, and count requests where these leave it.
type Worker struct {
	Series
	sent atomic.Int64 // requests, or round trips

	// http is the SDK's own HTTP client, as a user has it who loads the default
	// configuration: it keeps ten idle connections.
	http    dynamodb.HTTPClient
	pools   map[string]*pgxpool.Pool // by endpoint
	clients map[string]*redis.Client // by endpoint
	open    map[string]int           // connections, by endpoint
	records *memory.Store
}

// Serve measures jobs, which it receives on stdin by JSON-RPC, until that ends.
func Serve(series string) {
	w := &Worker{
		Series: All[series], http: awshttp.NewBuildableClient(), pools: map[string]*pgxpool.Pool{},
		clients: map[string]*redis.Client{}, open: map[string]int{}, records: memory.New(0),
	}
	if err := rpc.Register(w); err != nil {
		panic(err) // of the type alone
	}
	jsonrpc.ServeConn(struct {
		io.Reader
		io.WriteCloser
	}{os.Stdin, os.Stdout})
}

// Measure does a job, and checks that the handlers ran as often as they should.
func (w *Worker) Measure(j Job, f *Figures) error {
	h := &handler{charge: chargeOf(j), uneven: w.Uneven}
	do, err := w.prepare(j, h)
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	atATime, want := j.Callers, 0
	switch j.Kind {
	case First, Steps:
		want = j.Calls
	case Queue, Stream:
		want = j.Calls * j.Size
		fallthrough
	case Requeue, Restream:
		if w.Config.Ahead >= 0 {
			atATime = j.Size
		}
	}
	if err := w.connect(j, atATime); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	h.runs.Store(0)
	*f, err = w.timed(j, do)
	runs := int(h.runs.Load())
	if h.release != nil {
		err = errors.Join(err, h.release())
	}
	if err == nil && runs != want {
		err = fmt.Errorf("the handler ran %d times, want %d", runs, want)
	}
	return err
}

// prepare returns the function that makes one call, or one batch, of a job.
func (w *Worker) prepare(j Job, h *handler) (func(i int) error, error) {
	x, err := w.executor(j)
	if err != nil {
		return nil, err
	}
	call := w.caller(x, j, h)
	once := func(i int) error {
		r, err := invoke(call, paymentOf(j, i))
		if err == nil && r.Charge == "" {
			return errors.New("a call without a result")
		}
		return err
	}
	switch j.Kind {
	case Queue, Requeue:
		return w.queue(x, j, h), nil
	case Stream, Restream:
		return w.stream(x, j, h), nil
	case Memory:
		return inMemory(j, h)
	case Yardstick:
		return yardstick(j), nil
	case Steps:
		return steps(x, j, h), nil
	case First, Duplicate:
		return once, nil
	case Cached:
		for i := range j.Callers {
			if err := once(i); err != nil {
				return nil, err
			}
		}
		return func(i int) error { return once(i % j.Callers) }, nil
	case Conflict:
		return func(i int) error {
			if err := once(i % j.Callers); !errors.Is(err, idempotent.ErrInProgress) {
				return fmt.Errorf("a conflict ends with %v", err)
			}
			return nil
		}, h.hold(j.Callers, once)
	}
	return nil, fmt.Errorf("no kind %q", j.Kind)
}

// timed makes the calls of a job, and measures this process meanwhile.
func (w *Worker) timed(j Job, do func(i int) error) (Figures, error) {
	// Some calls are so short that two readings of the clock would count.
	short := j.Kind == Cached || j.Kind == Memory || j.Kind == Yardstick
	took := make([]time.Duration, j.Calls)
	runtime.GC() // what was prepared is not the calls' garbage
	var next atomic.Int64
	var running errgroup.Group
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	requests, cpu, began := w.sent.Load(), cpuTime(), time.Now()
	for range j.Callers {
		running.Go(func() error {
			for i := int(next.Add(1)) - 1; i < j.Calls; i = int(next.Add(1)) - 1 {
				var began time.Time
				if !short {
					began = time.Now()
				}
				if err := do(i); err != nil {
					return err
				}
				if !short {
					took[i] = time.Since(began)
				}
			}
			return nil
		})
	}
	err := running.Wait()
	f := Figures{Wall: time.Since(began), CPU: cpuTime() - cpu, Requests: int(w.sent.Load() - requests)}
	runtime.ReadMemStats(&after)
	f.Mallocs, f.Bytes = after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
	slices.Sort(took)
	f.Median = took[len(took)/2]
	return f, err
}

// cpuTime is the time that this process has run, user and system.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // of the arguments alone
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
