package worker

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
)

var (
	errBusy     = errors.New(Busy) // before any effect
	errDeclined = error(&DeclinedError{})
)

// Busy is the text of the error of work that stumbles.
const Busy = "the bank is busy"

// A DeclinedError is permanent.
type DeclinedError struct{}

func (*DeclinedError) Error() string { return "card declined" }

// run is one execution of the work of a request.
type run struct {
	*worker
	Request
	*journal
	attempt int64
	chance  *rand.Rand
	effects map[string]string // of the result, by slot
}

// longestTakeover is the time that work takes at times which another attempt has
// begun, so that the other one wakes up while it runs.
const longestTakeover = 2 * time.Second

// work does the work of a request of any kind.
func (w *worker) work(ctx context.Context, request Request) (Result, error) {
	claim, _ := idempotent.FromContext(ctx)
	j := journalOf(ctx)
	r := run{w, request, j, claim.Attempt, j.chance(request.Key), map[string]string{}}
	if claim.Attempt > 1 && r.chance.IntN(2) == 0 {
		time.Sleep(time.Duration(r.chance.IntN(int(longestTakeover))))
	}
	r.pause()
	err := r.stumble(ctx)
	switch {
	case err != nil:
	case r.Kind == Steps:
		err = r.steps(ctx)
	case r.Kind == Saga:
		err = r.saga(ctx)
	case r.Account > 0:
		err = r.transaction(ctx)
	case !r.Decline: // one effect, which the record does not cover
		r.effects[Main], err = r.effect(ctx, Main)
		r.pause()
	}
	if err == nil && r.Decline {
		err = idempotent.Permanent(errDeclined)
	}
	if err != nil {
		return Result{}, err
	}
	return Result{Key: r.Key, Attempt: r.attempt, Effects: r.effects, Blob: r.blob()}, nil
}

// record does the work of one record of a batch.
func (w *worker) record(ctx context.Context, request Request) error {
	_, err := w.work(ctx, request)
	return err
}

// stumble fails a few executions before their first effect.
func (r run) stumble(ctx context.Context) error {
	n := r.chance.IntN(100)
	if n > 3 {
		return nil
	}
	r.stumbles(ctx)
	if n == 3 {
		panic(errBusy)
	}
	return errBusy
}

// pause is the time that real work takes. It ignores the context, as the worst of
// zombies does.
func (r run) pause() {
	longest := 6 * time.Millisecond
	if r.chance.IntN(20) == 0 {
		longest *= 10
	}
	time.Sleep(time.Duration(r.chance.IntN(int(longest))))
}

func (r run) blob() string {
	if !r.Dense {
		return strings.Repeat("once ", r.Size/5+1)[:r.Size]
	}
	blob := make([]byte, r.Size)
	for i := range blob {
		blob[i] = byte('0' + r.chance.IntN(75))
	}
	return string(blob)
}

// steps has an effect in each step, and may stumble between them.
func (r run) steps(ctx context.Context) (err error) {
	for n := range r.Steps {
		if n > 0 {
			if err := r.stumble(ctx); err != nil {
				return err
			}
		}
		r.effects[Step(n)], err = idempotent.Step(ctx, Step(n), func(ctx context.Context) (string, error) {
			r.pause()
			return r.effect(ctx, Step(n))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// booking is the result of a step of a saga.
type booking struct {
	ID     string `json:"id"`
	Effect string `json:"effect"`
}

// saga makes a booking in each step, and cancels all of them if it declines.
func (r run) saga(ctx context.Context) error {
	for n := range r.Steps {
		made, err := idempotent.SagaStep(ctx, Step(n), func(ctx context.Context) (m booking, err error) {
			r.pause()
			if m.ID, err = r.book(ctx, n); err != nil {
				return m, err
			}
			m.Effect, err = r.effect(ctx, Step(n))
			return m, err
		}, func(ctx context.Context, m booking) error {
			r.pause()
			if _, err := r.effect(ctx, Undo(n)); err != nil {
				return err
			}
			return r.cancel(ctx, n, m.ID)
		})
		if err != nil {
			return err
		}
		r.effects[Step(n)] = made.Effect
	}
	return nil
}

// transaction has all of its effects in the transaction of its record.
func (r run) transaction(ctx context.Context) (err error) {
	tx, e := dynamo.Collect(ctx), r.newEffect(Main)
	if e.Early, err = r.early(ctx); err != nil {
		return r.failed(err)
	}
	tx.Put(r.Effects, e)
	add := expression.Add(expression.Name("Balance"), expression.Value(1))
	tx.Update(r.Effects, map[string]string{"id": Account(r.Account)}, add)
	r.effects[Main] = e.ID
	return nil
}
