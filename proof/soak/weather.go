package soak

import (
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/lambda-once/once/local/wire"
)

// weather is the network between the workers and DynamoDB: a proxy that loses,
// delays, repeats and throttles requests.
type weather struct {
	*wire.Proxy
	pending sync.WaitGroup // requests that arrive after their caller has left

	mu     sync.Mutex
	random *rand.Rand
	calm   bool
	gust   time.Time      // until then most requests are throttled
	counts map[string]int // of faults
	sent   map[string]int // requests, by operation
}

// A fault is what happens to one request on its way.
type fault string

const (
	pass        fault = ""
	throttled   fault = "throttled"         // refused with DynamoDB's answer
	failed      fault = "500"               // not applied
	failedLate  fault = "500 after applied" // as the SDK cannot tell
	unsent      fault = "cut before"        // the connection, before DynamoDB receives the request
	lost        fault = "answer lost"
	torn        fault = "answer torn"
	late        fault = "late"    // cut, and applied up to some seconds later
	copied      fault = "copied"  // applied, and once more up to some seconds later
	delayed     fault = "delayed" // before DynamoDB receives it
	answerLater fault = "answer delayed"
	partly      fault = "partly refused" // a batch, inside an HTTP 200
)

// climate is how often a fault happens, in 1,000 requests.
var climate = []struct {
	fault
	per1000 int
}{
	{throttled, 15}, {failed, 4}, {failedLate, 4}, {unsent, 4}, {lost, 6}, {torn, 3},
	{late, 3}, {copied, 4}, {delayed, 20}, {answerLater, 10},
}

const (
	// partlyPer100 is how many of 100 batches are refused in part.
	partlyPer100 = 10
	// longestLate is longer than a lease.
	longestLate = 4 * time.Second
	longestGust = 1500 * time.Millisecond
)

func newWeather(target string, random *rand.Rand) (*weather, error) {
	w := &weather{random: random, counts: map[string]int{}, sent: map[string]int{}}
	var err error
	w.Proxy, err = wire.HTTP(target, w.carry)
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

// throttle throttles most requests for a while.
func (w *weather) throttle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gust = time.Now().Add(longestGust/3 + time.Duration(w.random.Int64N(int64(longestGust*2/3))))
}

// seen returns how often each fault happened, and the requests by operation.
func (w *weather) seen() (faults, requests map[string]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.counts), maps.Clone(w.sent)
}

// draw decides on a request. The source is for what follows from the decision.
func (w *weather) draw(operation string) (fault, *rand.Rand) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent[operation]++
	own := rand.New(rand.NewPCG(w.random.Uint64(), 0))
	f := w.pick(operation)
	if f != pass {
		w.counts[string(f)]++
	}
	return f, own
}

func (w *weather) pick(operation string) fault {
	if w.calm {
		return pass
	}
	if time.Now().Before(w.gust) && w.random.IntN(10) < 6 {
		return throttled
	}
	if strings.HasPrefix(operation, "Batch") && w.random.IntN(100) < partlyPer100 {
		return partly
	}
	n := w.random.IntN(1000)
	for _, c := range climate {
		if n -= c.per1000; n < 0 {
			return c.fault
		}
	}
	return pass
}

func (w *weather) carry(r *wire.Request) (*wire.Response, error) {
	f, random := w.draw(r.Operation)
	send := r.Send
	switch f {
	case unsent:
		return nil, wire.ErrCut
	case late:
		w.later(r, random)
		return nil, wire.ErrCut
	case throttled:
		return throttle(r.Operation, r.Body, random), nil
	case failed:
		return internalError(), nil
	case delayed:
		pause(random)
	case copied:
		w.later(r, random)
	case partly:
		send = func() (*wire.Response, error) { return refusePartly(r, random) }
	}
	a, err := send()
	if err != nil {
		return nil, err
	}
	switch f {
	case lost:
		return nil, wire.ErrCut
	case failedLate:
		return internalError(), nil
	case answerLater:
		pause(random)
	case torn:
		a.Torn = true
	}
	return a, nil
}

// later sends a request after some time, up to twice a lease. The proxy reports a
// server that does not respond.
func (w *weather) later(r *wire.Request, random *rand.Rand) {
	after, send := time.NewTimer(time.Duration(random.Int64N(int64(longestLate)))), r.Late()
	w.pending.Go(func() {
		<-after.C
		_, _ = send()
	})
}

// pause is short as a rule, and some hundred milliseconds at times.
func pause(random *rand.Rand) {
	longest := 40 * time.Millisecond
	if random.IntN(8) == 0 {
		longest *= 20
	}
	time.Sleep(time.Duration(random.Int64N(int64(longest))))
}
