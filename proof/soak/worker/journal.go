package worker

import (
	"context"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"sync"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
)

// journal contains what happened in a delivery. The contexts of its calls lead to
// it.
type journal struct {
	delivery string

	mu       sync.Mutex
	ends     []End
	stumbled map[string]bool // by the id of the record
	failures []Failure
	trouble  error
}

type journalKey struct{}

func journalOf(ctx context.Context) *journal { return ctx.Value(journalKey{}).(*journal) }

func (j *journal) troubled(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.trouble = errors.Join(j.trouble, err)
}

// stumbles notes that the work of the call that ctx belongs to fails.
func (j *journal) stumbles(ctx context.Context) {
	claim, _ := idempotent.FromContext(ctx)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stumbled[claim.Operation+"#"+claim.KeyHash] = true
}

// observer writes the end of every call into the journal of its delivery.
type observer struct{}

func (observer) Observe(ctx context.Context, e idempotent.Event) {
	j := journalOf(ctx)
	j.mu.Lock()
	defer j.mu.Unlock()
	id := e.Operation + "#" + e.KeyHash
	j.ends = append(j.ends, End{
		Record: id, Outcome: string(e.Outcome), Attempt: e.Attempt,
		Lost: e.ErrorIs(idempotent.ErrLeaseLost), Stumbled: j.stumbled[id], Lapsed: e.Lapsed,
	})
}

// recordFailed is the option OnFailure of batches.
func recordFailed(ctx context.Context, e *handlers.RecordError) {
	j := journalOf(ctx)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failures = append(j.failures, *failure(e.ID, e.Err))
}

// chance returns a source of random numbers that depends on the delivery and the
// key alone: the seed of the test determines it.
func (j *journal) chance(key string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(j.delivery + "/" + key)) // never fails
	return rand.New(rand.NewPCG(h.Sum64(), 0))
}
