package soak

import (
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/lambda-once/once/internal/wire"
)

// weather is the network between the workers and DynamoDB: a proxy that loses,
// delays, repeats and throttles requests.
type weather struct {
	*wire.Proxy
	pending sync.WaitGroup // requests that arrive after their caller has left

	mu        sync.Mutex
	random    *rand.Rand
	calm      bool
	throttles time.Time      // until then most requests are throttled
	faults    map[string]int // by name
	requests  map[string]int // by operation
}

// fault is something that happens to a request on its way, and how often, in 1,000.
type fault struct {
	name    string
	per1000 int
	carry   func(w *weather, r *wire.Request, random *rand.Rand) (*wire.Response, error)
}

var throttled = fault{"throttled", 15, func(_ *weather, r *wire.Request, random *rand.Rand) (*wire.Response, error) {
	return throttle(r.Operation, r.Body, random), nil
}}

// partly happens to 100 of 1,000 batches, and to nothing else: a part is refused inside
// an HTTP 200.
var partly = fault{"partly refused", 100, func(_ *weather, r *wire.Request, random *rand.Rand) (*wire.Response, error) {
	if r.Operation == "BatchGetItem" {
		return withholdKeys(r, random)
	}
	return refuseStatements(r, random)
}}

// climate contains the faults of all requests.
var climate = []fault{
	throttled,
	{"500", 4, func(*weather, *wire.Request, *rand.Rand) (*wire.Response, error) { return internalError(), nil }},
	{"500 after applied", 4, func(_ *weather, r *wire.Request, _ *rand.Rand) (*wire.Response, error) {
		_, err := r.Send()
		return internalError(), err
	}},
	{"cut before", 4, func(*weather, *wire.Request, *rand.Rand) (*wire.Response, error) { return nil, wire.ErrCut }},
	{"answer lost", 6, func(_ *weather, r *wire.Request, _ *rand.Rand) (*wire.Response, error) {
		_, _ = r.Send() // the proxy reports a server that does not respond
		return nil, wire.ErrCut
	}},
	{"answer torn", 3, func(_ *weather, r *wire.Request, _ *rand.Rand) (*wire.Response, error) {
		a, err := r.Send()
		if err == nil {
			a.Torn = true
		}
		return a, err
	}},
	{"late", 3, func(w *weather, r *wire.Request, random *rand.Rand) (*wire.Response, error) {
		w.later(r, random)
		return nil, wire.ErrCut
	}},
	{"copied", 4, func(w *weather, r *wire.Request, random *rand.Rand) (*wire.Response, error) {
		w.later(r, random)
		return r.Send()
	}},
	{"delayed", 20, func(_ *weather, r *wire.Request, random *rand.Rand) (*wire.Response, error) {
		delay(random)
		return r.Send()
	}},
	{"answer delayed", 10, func(_ *weather, r *wire.Request, random *rand.Rand) (*wire.Response, error) {
		defer delay(random)
		return r.Send()
	}},
}

func newWeather(target string, random *rand.Rand) (w *weather, err error) {
	w = &weather{random: random, faults: map[string]int{}, requests: map[string]int{}}
	w.Proxy, err = wire.HTTP(target, func(r *wire.Request) (*wire.Response, error) {
		f, random := w.draw(r.Operation)
		if f == nil {
			return r.Send()
		}
		return f.carry(w, r, random)
	})
	return w, err
}

// close waits for the requests that are still on their way. All callers have left.
func (w *weather) close() error {
	w.pending.Wait()
	return w.Close()
}

// clear ends all faults.
func (w *weather) clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calm = true
}

// gust throttles most requests for a while.
func (w *weather) gust(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.throttles = time.Now().Add(d)
}

// draw decides on a request. The source is for what follows from the decision.
func (w *weather) draw(operation string) (*fault, *rand.Rand) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests[operation]++
	own := rand.New(rand.NewPCG(w.random.Uint64(), 0))
	f := w.pick(operation)
	if f != nil {
		w.faults[f.name]++
	}
	return f, own
}

func (w *weather) pick(operation string) *fault {
	switch {
	case w.calm:
		return nil
	case time.Now().Before(w.throttles) && w.random.IntN(10) < 6:
		return &throttled
	case strings.HasPrefix(operation, "Batch") && w.random.IntN(1000) < partly.per1000:
		return &partly
	}
	n := w.random.IntN(1000)
	for i := range climate {
		if n -= climate[i].per1000; n < 0 {
			return &climate[i]
		}
	}
	return nil
}

// longestLate is longer than a lease.
const longestLate = 4 * time.Second

// later sends a request after some time, up to twice a lease. The proxy reports a
// server that does not respond.
func (w *weather) later(r *wire.Request, random *rand.Rand) {
	after, send := time.Duration(random.Int64N(int64(longestLate))), r.Late()
	w.pending.Go(func() {
		time.Sleep(after)
		_, _ = send()
	})
}

// delay is short as a rule, and some hundred milliseconds at times.
func delay(random *rand.Rand) {
	longest := 40 * time.Millisecond
	if random.IntN(8) == 0 {
		longest *= 20
	}
	time.Sleep(time.Duration(random.Int64N(int64(longest))))
}
