package group

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type work string

func (w work) Key() string { key, _, _ := strings.Cut(string(w), "/"); return key }
func (w work) Size() int   { return len(w) }
func (w work) Reads() bool { return strings.HasPrefix(string(w), "read") }

// server records requests and keeps each until it is let go.
type server struct {
	t     *testing.T
	queue *Queue[work, string]
	wg    sync.WaitGroup

	mu       sync.Mutex
	requests []request
}

type request struct {
	calls string // in their order
	ctx   context.Context
	end   chan func([]*Call[work, string])
}

func newServer(t *testing.T, change ...func(*Limits)) *server {
	limits := Limits{Slots: 1, MaxCalls: 25, MaxSize: 1 << 20, Linger: 2 * time.Millisecond, Patience: 50 * time.Millisecond, Hold: 24 * time.Hour}
	for _, c := range change {
		c(&limits)
	}
	s := &server{t: t}
	s.queue = New(limits, func(ctx context.Context, calls []*Call[work, string]) {
		names := make([]string, len(calls))
		for i, c := range calls {
			names[i] = string(c.Work)
		}
		(<-s.begin(ctx, strings.Join(names, " ")))(calls)
	})
	return s
}

// serving is a test with a server of its own, in which nothing is left at the end.
func serving(t *testing.T, test func(t *testing.T, s *server), change ...func(*Limits)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, change...)
		test(t, s)
		s.idle()
	})
}

func (s *server) begin(ctx context.Context, calls string) chan func([]*Call[work, string]) {
	r := request{calls, ctx, make(chan func([]*Call[work, string]), 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	return r.end
}

// A result is what Do returned.
type result struct {
	done   bool
	answer string
	err    error
	after  time.Duration
}

// do makes a call that announces some siblings, and returns when it waits or has
// returned. The result is to be read after synctest.Wait.
func (s *server) do(ctx context.Context, w work, coming int) *result {
	return s.doUntil(ctx, w, coming, nil)
}

// doUntil makes a call that waits for its siblings until late is closed.
func (s *server) doUntil(ctx context.Context, w work, coming int, late <-chan struct{}) *result {
	r, began := new(result), time.Now()
	s.wg.Go(func() {
		answer, err := s.queue.Do(ctx, w, func() (int, <-chan struct{}) { return coming, late }, func() string {
			(<-s.begin(ctx, "alone "+string(w)))(nil)
			return "alone"
		})
		*r = result{true, answer, err, time.Since(began)}
	})
	synctest.Wait()
	return r
}

// sent requires the requests so far.
func (s *server) sent(want ...string) {
	s.t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var got []string
	for _, r := range s.requests {
		got = append(got, r.calls)
	}
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		s.t.Fatalf("sent %q, want %q", got, want)
	}
}

// end answers all calls of a request.
func (s *server) end(request int) {
	s.endWith(request, func(calls []*Call[work, string]) {
		for _, c := range calls {
			c.Answer("shared")
		}
	})
}

func (s *server) endWith(request int, how func([]*Call[work, string])) {
	s.mu.Lock()
	r := s.requests[request]
	s.mu.Unlock()
	r.end <- how
	synctest.Wait()
}

// idle requires that nothing is left in the queue.
func (s *server) idle() {
	s.t.Helper()
	s.wg.Wait()
	synctest.Wait()
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.flying != 0 || len(q.waiting) != 0 || q.size != 0 || q.lingering != 0 {
		s.t.Errorf("left: %d slots taken, %d calls of %d bytes, %d lingering", q.flying, len(q.waiting), q.size, q.lingering)
	}
}
