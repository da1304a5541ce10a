package linearizability

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lambda-once/once/idempotent/driver"
)

// Options are the options of [Check]. The zero value of every field is its
// default.
type Options struct {
	// Calm adds no lost, delayed and doubled requests to those that the client of
	// the store may make itself. A history of Do still has frozen processes.
	Calm bool

	// Histories is the number of histories. A third of them are of Do, the
	// rest of the store alone. Default 60.
	Histories int

	// InMemory says that the store is in the memory of this process, and has no
	// clock and no goroutines. Histories of Do then take no time.
	InMemory bool

	// ReadsAfterRefusal accepts that a store refuses a write whose condition
	// holds, with the record that it reads afterwards. Package driver allows it
	// after a conflict with a concurrent write.
	ReadsAfterRefusal bool

	// Wire is the proxy that the store calls its server through, if it is
	// DynamoDB. Default: none. Faults then come from a decorator of the store.
	Wire *Wire
}

// Check makes concurrent histories of the store, and of idempotent.Do with the
// store, and fails the test for each that is not linearizable or that porcupine
// cannot decide on. It calls open once. See the package's documentation.
func Check(t *testing.T, open func(t *testing.T) driver.Store, options *Options) {
	t.Helper()
	r := newRow(t, options)
	r.run(t, open(t))
	r.report(t)
	for n, v := range r.wrong {
		if n == maxPictures {
			t.Errorf("and %d more", len(r.wrong)-n)
			break
		}
		path, err := v.draw()
		if err != nil {
			t.Error(err)
		}
		t.Errorf("%v; see %s", v, path)
	}
	for _, problem := range r.problems {
		t.Error(problem)
	}
}

// maxPictures bounds the histories that are drawn. One is usually enough.
const maxPictures = 3

// parallel is the number of histories made at the same time, which share the store.
// Those in memory are made one after the other.
const parallel = 8

// row is one store under check, and the findings.
type row struct {
	Options
	// seed is the seed of all decisions, from $ONCE_SEED or random. It repeats the
	// plan of each history, and not the timing of its goroutines.
	seed  uint64
	lease time.Duration // of histories of Do
	// between, if it is not nil, comes between each resumer and the store.
	between func(driver.Store) driver.Store

	mu       sync.Mutex
	wrong    []verdict
	slowest  verdict
	problems []string
	tally    tally
}

func newRow(t *testing.T, options *Options) *row {
	r := &row{seed: rand.Uint64(), tally: tally{}}
	if options != nil {
		r.Options = *options
	}
	r.Histories = cmp.Or(r.Histories, 60)
	if text := os.Getenv("ONCE_SEED"); text != "" {
		var err error
		if r.seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("linearizability: ONCE_SEED is %q, which is no number", text)
		}
	}
	return r
}

// run makes all histories and checks them.
func (r *row) run(t *testing.T, store driver.Store) {
	one := func(number int) {
		if number%3 == 0 {
			r.checkDo(t, store, number)
		} else {
			h := r.history(t, number)
			playStore(h, store)
			r.judgeStore(h, "the store")
		}
	}
	r.lease = shortestLease
	if r.InMemory {
		for number := range r.Histories {
			one(number)
		}
		return
	}
	r.leaseFor(t, store) // opens the connections
	r.lease = r.leaseFor(t, store)
	slots := make(chan struct{}, parallel)
	var all sync.WaitGroup
	for number := range r.Histories {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			one(number)
		})
	}
	all.Wait()
}

// leaseFor returns a lease that is long enough for the store as it responds now,
// under the load that the row makes.
func (r *row) leaseFor(t *testing.T, store driver.Store) time.Duration {
	const requests = 3 // the least that a call needs, and one to extend its lease
	began := time.Now()
	var all sync.WaitGroup
	for range parallel * processes {
		all.Go(func() {
			for range requests {
				if _, err := store.Get(t.Context(), idPrefix); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	return min(max(3*time.Since(began), shortestLease), longestLease)
}

// history returns an empty history with the network that the row wants.
func (r *row) history(t *testing.T, number int) *history {
	h := newHistory(t, r.seed, uint64(number))
	h.faulty = r.Wire == nil && !r.Calm
	if r.Wire != nil {
		r.Wire.watch(h)
	}
	return h
}

func (r *row) checkDo(t *testing.T, store driver.Store, number int) {
	var h *history
	var all []*invocation
	play := func(t *testing.T) {
		h = r.history(t, number)
		h.delay = func() { time.Sleep(r.lease / 20) }
		all = playDo(h, store, r.lease, r.between)
	}
	if r.InMemory {
		synctest.Test(t, play)
	} else {
		play(t)
	}
	r.judge(h, "Do", doModel(), doOperations(h, all))
	r.judgeStore(h, "the store under Do")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tally.invocations(all)
}

func (r *row) judgeStore(h *history, what string) {
	r.judge(h, what, storeModel(r.ReadsAfterRefusal), h.operations())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tally.requests(h)
	h.mu.Lock()
	defer h.mu.Unlock()
	r.problems = append(r.problems, h.problems...)
}

func (r *row) judge(h *history, what string, model porcupine.Model, operations []porcupine.Operation) {
	r.add(judgeHistory(fmt.Sprintf("%s, %v,", what, h), model, operations, patience))
}

func (r *row) add(v verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tally["checks"]++
	r.tally["operations"] += len(v.operations)
	r.tally["operations without an answer"] += v.unknown
	if v.took > r.slowest.took {
		r.slowest = v
	}
	if !v.legal() {
		r.wrong = append(r.wrong, v)
	}
}

func (r *row) report(t *testing.T) {
	t.Helper()
	t.Logf("%d histories, seed %d, leases of %v; the slowest check took %v for %d operations, %d without an answer", r.Histories, r.seed,
		r.lease.Round(time.Millisecond), r.slowest.took.Round(time.Microsecond), len(r.slowest.operations), r.slowest.unknown)
	t.Log(r.tally)
}
