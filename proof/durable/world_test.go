package durable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/proof/durable"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(dynamodblocal.Main(m))
}

type order struct {
	ID    string
	Cents int
}

const theOrder = `{"ID":"o-1","Cents":4200}`

// world is a durable function, the service that invokes it, and its effects.
type world struct {
	*testing.T
	*durable.Service
	store   *gate
	hour    time.Duration // of a suspension
	timeout time.Duration // of an execution
	bank    bank
	config  *idempotent.Config
	options *durablefunc.Options
	events  events
}

// everyStore runs a test with the store in memory, where hours pass at once, and
// with DynamoDB Local, where an hour is half a second.
func everyStore(t *testing.T, test func(w *world)) {
	t.Run("memory", func(t *testing.T) { inMemory(t, test) })
	t.Run("dynamo", func(t *testing.T) { inDynamoDB(t, test) })
}

func inDynamoDB(t *testing.T, test func(w *world)) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "pay")
	client, table := dynamodblocal.NewTable(t)
	store, err := dynamo.New(client, table, nil)
	check.Must(t, err)
	w := newWorld(t, store, 500*time.Millisecond)
	w.timeout = time.Hour
	w.Backoff = func(int) time.Duration { return 50 * time.Millisecond }
	defer w.Close()
	test(w)
}

func inMemory(t *testing.T, test func(w *world)) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "pay")
	synctest.Test(t, func(t *testing.T) {
		// The clock of a bubble begins before there were durable functions.
		time.Sleep(time.Until(time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC)))
		w := newWorld(t, memory.New(0), time.Hour)
		defer w.Close()
		test(w)
	})
}

func newWorld(t *testing.T, store driver.Store, hour time.Duration) *world {
	return &world{
		T: t, store: &gate{Store: store}, hour: hour, timeout: 24 * hour, config: &idempotent.Config{},
		bank: bank{charges: map[string]int{}},
		Service: durable.NewService(10*time.Second, func(try int) time.Duration {
			return min(time.Duration(try)*10*time.Second, 5*time.Minute)
		}),
	}
}

// deploy sets the function of the service.
func (w *world) deploy(handler func(*durable.Context, order) (string, error)) {
	w.deployAtWire(durable.Wrap(w.Service, 1000, handler))
}

func (w *world) deployAtWire(next func(context.Context, []byte) ([]byte, error)) {
	w.Helper()
	w.Invoke = durablefunc.Wrap(w.executor("pay"), w.timeout, orderID, next, w.options)
}

func orderID(o order) (idempotent.Key, error) {
	if o.ID == "" {
		return idempotent.Key{}, &idempotent.MissingKeyError{Part: "id"}
	}
	return idempotent.Key{ID: o.ID, Payload: o.Cents}, nil
}

func (w *world) executor(operation string) *idempotent.Executor {
	w.Helper()
	config := *w.config
	config.Observer = &w.events
	x, err := idempotent.New(operation, w.store, &config)
	check.Must(w, err)
	return x
}

// events are the outcomes of all calls.
type events struct {
	mu  sync.Mutex
	all []idempotent.Event
}

func (e *events) Observe(_ context.Context, event idempotent.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

func (e *events) count(o idempotent.Outcome) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, event := range e.all {
		if event.Outcome == o {
			n++
		}
	}
	return n
}

// bank counts charges by the keys that came with them.
type bank struct {
	mu      sync.Mutex
	charges map[string]int
}

func (b *bank) charge(ctx context.Context, name string) string {
	key := idempotent.DownstreamKey(ctx, name)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.charges[key]++
	return "receipt of " + key
}

// effects returns the charges that a bank makes which knows no keys, and those of
// one that does.
func (b *bank) effects() (requests, charged int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.charges {
		requests += n
	}
	return requests, len(b.charges)
}

func (w *world) wantEffects(requests int) {
	w.Helper()
	if r, charged := w.bank.effects(); r != requests || charged != min(requests, 1) {
		w.Errorf("%d requests to the bank, and not %d; %d charges", r, requests, charged)
	}
}

// pay charges, waits, and ships.
func (w *world) pay(c *durable.Context, _ order) (string, error) {
	receipt, err := durable.Step(c, "charge", func(ctx context.Context) (string, error) {
		return w.bank.charge(ctx, "charge"), nil
	})
	if err != nil {
		return "", err
	}
	if err := durable.Wait(c, "until tomorrow", w.hour); err != nil {
		return "", err
	}
	return durable.Step(c, "ship", func(context.Context) (string, error) { return receipt, nil })
}

// deliver starts an execution for the order, as a delivery of its message does,
// and runs it to its end.
func (w *world) deliver(name string) (status, result string) {
	return w.Start(name, theOrder).Run(w.Context())
}

func (w *world) wantSuccess(status, result string) string {
	w.Helper()
	check.Equal(w, status, "SUCCEEDED", result)
	return result
}

// wantFailure delivers the order, whose execution must fail with an error of this type.
func (w *world) wantFailure(name, errorType string) {
	w.Helper()
	if status, result := w.deliver(name); status != "FAILED" || result != errorType {
		w.Errorf("%s: %s, %s, want %s", name, status, result, errorType)
	}
}

// run runs an execution to its success, and returns its result.
func (w *world) run(e *durable.Execution) string {
	w.Helper()
	return w.wantSuccess(e.Run(w.Context()))
}

// wantOneResult runs both executions to the same success, with one effect.
func (w *world) wantOneResult(first, duplicate *durable.Execution) {
	w.Helper()
	if a, b := w.run(first), w.run(duplicate); a != b {
		w.Errorf("%s, %s", a, b)
	}
	w.wantEffects(1)
}

// wantPending makes one invocation, which must be suspended.
func (w *world) wantPending(e *durable.Execution) {
	w.Helper()
	if answer, err := e.Once(w.Context()); err != nil || answer.Status != "PENDING" {
		w.Fatal(answer, err)
	}
}

// suspended starts the first execution, which has charged.
func (w *world) suspended() *durable.Execution {
	w.Helper()
	first := w.Start("first", theOrder)
	w.wantPending(first)
	return first
}

// wantConflict makes one invocation of a duplicate, which must meet the first one. It
// does not end the test, which may have to end a goroutine.
func (w *world) wantConflict(duplicate *durable.Execution) *idempotent.InProgressError {
	w.Helper()
	_, err := duplicate.Once(w.Context())
	running, ok := errors.AsType[*idempotent.InProgressError](err)
	if !ok {
		w.Errorf("a duplicate got %v", err)
		return &idempotent.InProgressError{}
	}
	return running
}

// crashingOnce returns a function that charges, and crashes after the first charge.
func (w *world) crashingOnce() func(context.Context) (string, error) {
	var crashed atomic.Bool
	return func(ctx context.Context) (string, error) {
		receipt := w.bank.charge(ctx, "card")
		if crashed.CompareAndSwap(false, true) {
			durable.Crash(ctx)
		}
		return receipt, nil
	}
}

// wantUndone requires that the step charged once, refunded once, and has failed for good.
func (w *world) wantUndone(a *account) {
	w.Helper()
	if r := w.record("charge", cardKey); r.Status != driver.Failed || a.charges.Load() != 1 || a.refunds.Load() != 1 {
		w.Errorf("%d charges, %d refunds, and the record is %s: %s", a.charges.Load(), a.refunds.Load(), r.Status, r.Data)
	}
}

// record returns the record of an operation's only key.
func (w *world) record(operation string, key idempotent.Key) driver.Record {
	w.Helper()
	id, err := key.RecordID(operation)
	check.Must(w, err)
	r, err := w.store.Store.Get(w.Context(), id)
	check.Must(w, err)
	return r
}

func (w *world) paid() driver.Record {
	w.Helper()
	return w.record("pay", idempotent.Key{ID: "o-1", Payload: 4200})
}

// gate is a store behind a network that a test controls.
type gate struct {
	driver.Store
	// pass is called with each write: it may return an error before or after it
	// calls apply. It is nil, or set before there are calls.
	pass func(ctx context.Context, what string, apply func() (driver.Record, bool, error)) (driver.Record, bool, error)
}

var errNetwork = fmt.Errorf("connection reset: %w", driver.ErrUnavailable)

func (g *gate) through(ctx context.Context, what string, apply func() (driver.Record, bool, error)) (driver.Record, bool, error) {
	if g.pass == nil {
		return apply()
	}
	return g.pass(ctx, what, apply)
}

func (g *gate) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	return g.through(ctx, "create", func() (driver.Record, bool, error) { return g.Store.Create(ctx, r, cutoff, with) })
}

func (g *gate) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	return g.through(ctx, "change", func() (driver.Record, bool, error) { return g.Store.Change(ctx, f, c) })
}

// conflicts returns the number of the execution's invocations that were refused as duplicates.
func conflicts(e *durable.Execution) (n int) {
	for _, err := range e.Errors() {
		if errors.Is(err, idempotent.ErrInProgress) {
			n++
		}
	}
	return n
}

func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}
