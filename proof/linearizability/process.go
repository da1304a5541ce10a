package linearizability

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// The processes call Do with real time, and so with short leases. In memory
// time is virtual, and costs nothing.
const (
	shortestLease = 200 * time.Millisecond
	longestLease  = 2 * time.Second
	lastLease     = time.Minute // of the last call, which must succeed
	doReserve     = 20 * time.Millisecond
	doSkew        = 20 * time.Millisecond
	doTime        = 8 // leases, of one history
	processes     = 3
	// providerMemory outlasts each history: all of its attempts run.
	providerMemory = time.Hour
	// enough is the number of answers after which a process stops.
	enough = 3
)

// process calls Do or a wrapped handler with one key, again and again. It has an Executor
// of its own, as each execution environment has.
type process struct {
	h      *history
	x      *idempotent.Executor
	call   func(context.Context) (string, error)
	client int
	lease  time.Duration
	rnd    *rand.Rand
	event  idempotent.Event // of the last call
	calm   bool

	mu     sync.Mutex // of the rest: the heartbeat is frozen too
	chance *rand.Rand
	thaws  time.Time
}

// invocation is one call of Do or of a wrapped handler, as its caller and its handler saw
// it, or one round of a resumer.
type invocation struct {
	client    int
	call, ret int64
	began     time.Time
	lease     time.Duration
	resumes   bool // nobody receives value

	ran            bool
	started, ended int64 // of the handler
	startedAt      time.Time
	attempt        int64
	result         string // of the handler; "" if it asks for a retry
	refunded       bool   // the handler says that it has done nothing
	value          string // that the caller received
	err            error
	outcome        idempotent.Outcome
}

type invocationKey struct{}

var errTryAgain = errors.New("try again")

// newProcess returns a process that calls the store that open returns.
func newProcess(h *history, client int, lease time.Duration, open func(*process) driver.Store) *process {
	p := &process{h: h, client: client, lease: lease, rnd: h.rand(client), chance: h.rand(client + 100)}
	config := &idempotent.Config{
		ClockSkew: doSkew, Lease: lease, Reserve: doReserve,
		Observer: p,
	}
	if p.rnd.IntN(3) == 0 {
		config.Wait = lease / 2
	}
	if p.rnd.IntN(3) == 0 {
		config.CacheEntries = 4
	}
	config.ReadFirst = p.rnd.IntN(3) == 0
	if h.remembers() {
		config.ProviderMemory, config.RefuseLate = providerMemory, true
	}
	config.Resume = h.resumes()
	x, err := idempotent.New(h.id, open(p), config)
	if err != nil {
		panic(err) // these configurations are valid
	}
	p.x, p.call = x, p.do
	if config.Resume {
		wrapped := idempotent.Wrap(x, h.key, func(ctx context.Context, _ string) (string, error) { return p.run(ctx) })
		p.call = func(ctx context.Context) (string, error) { return wrapped(ctx, theRequest) }
	}
	return p
}

// newCaller returns a process that makes calls.
func newCaller(h *history, client int, store driver.Store, lease time.Duration) *process {
	return newProcess(h, client, lease, func(p *process) driver.Store { return recorded(store, client, h, p.gate) })
}

// Observe implements [idempotent.Observer].
func (p *process) Observe(_ context.Context, e idempotent.Event) { p.event = e }

// gate stops a frozen process. It also freezes one, between two requests.
func (p *process) gate() {
	p.mu.Lock()
	if !p.calm && p.chance.IntN(15) == 0 {
		p.thaws = time.Now().Add(p.lease + upTo(p.chance, p.lease))
	}
	thaws := p.thaws
	p.mu.Unlock()
	time.Sleep(time.Until(thaws))
}

func (p *process) freeze(d time.Duration) {
	p.mu.Lock()
	p.thaws = time.Now().Add(d)
	p.mu.Unlock()
	p.gate()
}

// invoke makes one call.
func (p *process) invoke(ctx context.Context) *invocation {
	i := &invocation{client: p.client, lease: p.lease, began: time.Now(), call: p.h.now()}
	i.value, i.err = p.call(context.WithValue(ctx, invocationKey{}, i))
	i.ret, i.outcome = p.h.now(), p.event.Outcome
	return i
}

func (p *process) do(ctx context.Context) (string, error) {
	return idempotent.Do(ctx, p.x, idempotent.Key{Record: p.h.id, Fingerprint: "payload", Issued: time.Now()}, p.run)
}

// run is the handler.
func (p *process) run(ctx context.Context) (string, error) {
	i := ctx.Value(invocationKey{}).(*invocation)
	i.ran, i.startedAt, i.started = true, time.Now(), p.h.now()
	if claim, ok := idempotent.FromContext(ctx); ok {
		i.attempt = claim.Attempt
	}
	defer func() { i.ended = p.h.now() }()
	return p.handle(i)
}

// handle has an effect, and ends in one of the ways in which handlers do. It
// takes no notice of a context that ends: its process may be frozen.
func (p *process) handle(i *invocation) (string, error) {
	if p.calm {
		i.result = p.h.name("result")
		return i.result, nil
	}
	switch n := p.rnd.IntN(10); {
	case n < 4:
		p.freeze(p.lease/2 + upTo(p.rnd, 3*p.lease))
	case n < 8:
		time.Sleep(upTo(p.rnd, p.lease))
	}
	switch n := p.rnd.IntN(20); {
	case n < 7:
		return "", errTryAgain
	case n < 10:
		i.refunded = true
		return "", idempotent.Retryable(errTryAgain)
	case n < 12:
		i.result = p.h.name("result")
		return "", idempotent.Permanent(errors.New(i.result))
	}
	i.result = p.h.name("result")
	return i.result, nil
}

// playDo makes a history of Do: processes that call it at the same time with
// one key, and long after them one more call without faults. In histories with
// Config.Resume, a resumer runs beside them, and calls the store through between.
func playDo(h *history, store driver.Store, lease time.Duration, between func(driver.Store) driver.Store) []*invocation {
	var mu sync.Mutex
	var all []*invocation
	play := func(p *process, pause time.Duration, ends func(*invocation) bool) {
		for began := time.Now(); time.Since(began) < doTime*lease; {
			time.Sleep(upTo(p.rnd, pause))
			ctx, cancel := h.t.Context(), context.CancelFunc(func() {})
			if p.rnd.IntN(8) == 0 { // a caller that leaves
				ctx, cancel = context.WithTimeout(ctx, upTo(p.rnd, lease))
			}
			i := p.invoke(ctx)
			cancel()
			mu.Lock()
			all = append(all, i)
			mu.Unlock()
			if ends(i) {
				return
			}
		}
	}
	var running, resuming sync.WaitGroup
	for client := range processes {
		running.Go(func() {
			answers := 0
			play(newCaller(h, client, store, lease), lease/2, func(i *invocation) bool {
				if i.err == nil || errors.Is(i.err, idempotent.ErrReplayed) {
					answers++
				}
				return answers == enough
			})
		})
	}
	var over atomic.Bool
	if h.resumes() {
		resuming.Go(func() {
			play(newResumer(h, store, lease, between).process, lease/8, func(*invocation) bool { return over.Load() })
		})
	}
	running.Wait()
	over.Store(true)
	resuming.Wait()
	h.settle()
	time.Sleep(2*lease + 3*doSkew) // the longest lease lapses
	if h.resumes() {
		all = append(all, newResumer(h, store, lastLease, between).last(h.t.Context()))
	}
	p := newCaller(h, processes, store, lastLease)
	p.calm = true
	last := p.invoke(h.t.Context())
	if last.err != nil && !errors.Is(last.err, idempotent.ErrReplayed) {
		h.problem("a call long after all others: %v", last.err)
	}
	return append(all, last)
}

// upTo returns a random time below d.
func upTo(rnd *rand.Rand, d time.Duration) time.Duration { return time.Duration(rnd.Int64N(int64(d))) }
