package linearizability

import (
	"crypto/rand"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// history contains the requests of all callers for one record, with the
// order in which they were made and answered.
type history struct {
	t      *testing.T
	id     string // of the record
	number uint64
	seed   uint64
	named  atomic.Int64 // tokens, steps and results

	mu       sync.Mutex
	chance   *mathrand.Rand // of fates
	changed  *sync.Cond
	clock    int64 // counts calls and returns, which orders them
	requests []*op
	running  int // callers that have moves left
	waiting  int // those of them that wait for the others
	late     []func()
	problems []string // beside an order that is not linearizable
	calm     bool
	arriving sync.WaitGroup
	// delay is how long a slow request takes.
	delay  func()
	faulty bool // each call has a fate
}

// op is one request of one caller.
type op struct {
	history *history
	request
	answer
	client     int
	call, ret  int64 // ret is 0 while there is no answer
	sent       int64 // when the first copy left for the server
	copies     int   // that left for the server
	began      time.Time
	invocation *invocation // the call of Do that sent it, or nil
}

func newHistory(t *testing.T, seed, number uint64) *history {
	h := &history{t: t, id: idPrefix + rand.Text(), number: number, seed: seed}
	h.chance = mathrand.New(mathrand.NewPCG(seed, ^number))
	h.changed = sync.NewCond(&h.mu)
	h.delay = func() { h.freeze(3) }
	return h
}

// rand returns the source of one caller's decisions.
func (h *history) rand(client int) *mathrand.Rand {
	return mathrand.New(mathrand.NewPCG(h.seed, h.number<<8|uint64(client)))
}

// remembers reports whether the calls of Do have ProviderMemory and RefuseLate: in half of
// the histories.
func (h *history) remembers() bool { return h.number%2 == 0 }

// resumes reports whether the calls of Do are those of a wrapped handler with Config.Resume,
// beside a resumer: in half of the histories, of which half remember.
func (h *history) resumes() bool { return h.number%12 >= 6 }

// name returns a name that the history has not used yet.
func (h *history) name(of string) string { return fmt.Sprintf("%s-%08d", of, h.named.Add(1)) }

func (h *history) String() string {
	return fmt.Sprintf("history %d of seed %d", h.number, h.seed)
}

// problem notes a fact that no history may contain.
func (h *history) problem(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.problems = append(h.problems, h.String()+": "+fmt.Sprintf(format, args...))
}

// tick returns the next point in the order of calls and returns. The caller has
// locked h.mu.
func (h *history) tick() int64 {
	h.clock++
	h.changed.Broadcast()
	return h.clock
}

func (h *history) now() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tick()
}

func (h *history) begin(client int, r request) *op {
	o := &op{history: h, request: r, client: client, began: time.Now()}
	h.mu.Lock()
	defer h.mu.Unlock()
	o.call = h.tick()
	h.requests = append(h.requests, o)
	return o
}

// end notes the answer to a request. After an error it may be applied, now or
// later.
func (o *op) end(a answer) {
	o.history.mu.Lock()
	defer o.history.mu.Unlock()
	o.answer = a
	if !a.unknown {
		o.ret = o.history.tick()
	}
}

// leaves notes that a copy of the request leaves for the server.
func (o *op) leaves() {
	o.history.mu.Lock()
	defer o.history.mu.Unlock()
	if o.copies++; o.sent == 0 {
		o.sent = o.history.tick()
	}
}

// answered notes that the last copy that left had its answer, and was not applied:
// the next one that the store sends for the same request replaces it.
func (o *op) answered() {
	o.history.mu.Lock()
	defer o.history.mu.Unlock()
	o.copies--
}

// extra returns the number of copies that the server may have received beside
// the one that was answered, or beside the first.
func (o *op) extra() int { return max(o.copies-1, 0) }

// applications returns how often the request may have been applied.
func (o *op) applications() int {
	if o.kind == read || !o.unknown && !o.ok {
		return o.extra()
	}
	return o.extra() + 1
}

// later keeps f, the arrival of a late copy, for a later moment of the history.
// After the history has settled, the copy is lost.
func (h *history) later(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.calm {
		h.late = append(h.late, f)
	}
}

// fate returns the fate of the next request. At times it lets one late copy arrive,
// beside whatever else happens.
func (h *history) fate() fate {
	h.mu.Lock()
	defer h.mu.Unlock()
	lateArrives, f := h.chance.IntN(4) == 0, pass
	if h.chance.IntN(100) < 30 {
		f = unsent + fate(h.chance.IntN(int(slow)))
	}
	if h.calm {
		return pass
	}
	if lateArrives && len(h.late) > 0 {
		arrival := h.late[0]
		h.late = h.late[1:]
		h.arriving.Go(arrival)
	}
	return f
}

// settle lets all late copies arrive, and ends the faults.
func (h *history) settle() {
	h.mu.Lock()
	h.calm = true
	late := h.late
	h.late = nil
	h.mu.Unlock()
	for _, f := range late {
		h.arriving.Go(f)
	}
	h.arriving.Wait()
}

func (h *history) isCalm() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calm
}

// freeze stops the caller until the rest has made so many calls and returns, or
// waits as well.
func (h *history) freeze(ticks int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	until := h.clock + ticks
	h.waiting++
	h.changed.Broadcast()
	for h.clock < until && h.waiting < h.running {
		h.changed.Wait()
	}
	h.waiting--
}

// leave reports that a caller has no moves left.
func (h *history) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running--
	h.changed.Broadcast()
}

// operations returns the history of the store for the checker. A request
// without an answer, and each extra copy of one, returns at +∞.
func (h *history) operations() []porcupine.Operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []porcupine.Operation
	for _, o := range h.requests {
		if o.kind != read || !o.unknown {
			all = append(all, operation(o.client, o.request, o.answer, o.call, o.ret))
		}
		if o.kind != read {
			copied := operation(copyClient, o.request, answer{unknown: true}, o.sent, 0)
			all = append(all, slices.Repeat([]porcupine.Operation{copied}, o.extra())...)
		}
	}
	last := h.tick()
	return append(all, operation(endClient, request{kind: end}, answer{}, last, h.tick()))
}

// The clients of the checker beside the callers: of copies, of the end, and the resumer.
const (
	copyClient = actors + 1 + iota
	endClient
	resumerClient
)

func operation(client int, in, out any, call, ret int64) porcupine.Operation {
	if ret == 0 {
		ret = never
	}
	return porcupine.Operation{ClientId: client, Input: in, Output: out, Call: call, Return: ret}
}

// never is the return of an operation without an answer.
const never = math.MaxInt64
