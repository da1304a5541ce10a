package soak

import (
	"bytes"
	"context"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// weather is the network between the workers and DynamoDB: a proxy that loses,
// delays, repeats and throttles requests.
type weather struct {
	url       string
	target    string
	server    *http.Server
	transport *http.Transport
	pending   sync.WaitGroup // requests that arrive after their caller has left

	mu     sync.Mutex
	random *rand.Rand
	calm   bool
	gust   time.Time      // until then most requests are throttled
	counts map[string]int // of faults
	sent   map[string]int // requests, by operation
	err    error
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
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &weather{
		url: "http://" + l.Addr().String(), target: target, random: random, counts: map[string]int{}, sent: map[string]int{},
		transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
	}
	w.server = &http.Server{Handler: w}
	w.pending.Go(func() {
		if err := w.server.Serve(l); err != http.ErrServerClosed {
			w.broken(err)
		}
	})
	return w, nil
}

// close waits for the requests that are still on their way.
func (w *weather) close() error {
	err := w.server.Shutdown(context.Background())
	w.pending.Wait()
	w.transport.CloseIdleConnections()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	return err
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

func (w *weather) broken(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
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

func (w *weather) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	body, err := io.ReadAll(in.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // a process that was killed
	}
	_, operation, _ := strings.Cut(in.Header.Get("X-Amz-Target"), ".")
	f, random := w.draw(operation)
	switch f {
	case unsent:
		panic(http.ErrAbortHandler)
	case late:
		w.later(in.Header, body, random)
		panic(http.ErrAbortHandler)
	case throttled:
		throttle(operation, body, random).write(out)
		return
	case failed:
		internalError().write(out)
		return
	case delayed:
		pause(random)
	case copied:
		w.later(in.Header, body, random)
	}
	send := w.forward
	if f == partly {
		send = func(header http.Header, body []byte) (answer, error) {
			return refuseStatements(w.forward, header, body, random)
		}
	}
	a, err := send(in.Header, body)
	switch {
	case err != nil:
		w.broken(err)
		panic(http.ErrAbortHandler)
	case f == lost:
		panic(http.ErrAbortHandler)
	case f == failedLate:
		a = internalError()
	case f == answerLater:
		pause(random)
	case f == torn:
		a.length = len(a.body)
		a.body = a.body[:len(a.body)/2]
	}
	a.write(out)
	if f == torn {
		panic(http.ErrAbortHandler)
	}
}

// later sends a request after some time, up to twice a lease.
func (w *weather) later(header http.Header, body []byte, random *rand.Rand) {
	after := time.NewTimer(time.Duration(random.Int64N(int64(longestLate))))
	w.pending.Go(func() {
		<-after.C
		if _, err := w.forward(header, body); err != nil {
			w.broken(err)
		}
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

// forward does not use the caller's context, because a caller that has died does
// not cancel its requests.
func (w *weather) forward(header http.Header, body []byte) (a answer, err error) {
	req, err := http.NewRequest(http.MethodPost, w.target, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	req.Header = header.Clone()
	res, err := w.transport.RoundTrip(req)
	if err != nil {
		return a, err
	}
	defer res.Body.Close()
	a.status, a.header = res.StatusCode, res.Header
	a.body, err = io.ReadAll(res.Body)
	a.length = len(a.body)
	return a, err
}
