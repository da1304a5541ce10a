package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/proof/soak/internal/job"
)

var (
	errBusy     = errors.New("the bank is busy") // before any effect
	errDeclined = error(&DeclinedError{})
)

// A DeclinedError is permanent.
type DeclinedError struct{}

func (*DeclinedError) Error() string { return "card declined" }

func replaysDecline(err error) bool {
	replayed, ok := errors.AsType[*idempotent.ReplayedError](err)
	return ok && replayed.Type == "DeclinedError" && replayed.Message == errDeclined.Error()
}

// run is one execution of the work of a request.
type run struct {
	*worker
	job.Request
	*journal
	attempt int64
	chance  *rand.Rand
}

func (w *worker) begin(ctx context.Context, request job.Request) run {
	claim, _ := idempotent.FromContext(ctx)
	j := journalOf(ctx)
	r := run{w, request, j, claim.Attempt, j.chance(request.Key)}
	if claim.Attempt > 1 && r.chance.IntN(2) == 0 {
		time.Sleep(time.Duration(r.chance.IntN(int(longestTakeover))))
	}
	return r
}

// longestTakeover is the time that work takes at times which another attempt has
// begun, so that the other one wakes up while it runs.
const longestTakeover = 2 * time.Second

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

func (r run) result(effects map[string]string) job.Result {
	result := job.Result{Key: r.Key, Attempt: r.attempt, Effects: effects}
	if !r.Dense {
		result.Blob = strings.Repeat("once ", r.Size/5+1)[:r.Size]
		return result
	}
	blob := make([]byte, r.Size)
	for i := range blob {
		blob[i] = byte('0' + r.chance.IntN(75))
	}
	result.Blob = string(blob)
	return result
}

// plain has one effect, which the record does not cover.
func (w *worker) plain(ctx context.Context, request job.Request) (job.Result, error) {
	r := w.begin(ctx, request)
	r.pause()
	if err := r.stumble(ctx); err != nil {
		return job.Result{}, err
	}
	if r.Decline {
		return job.Result{}, idempotent.Permanent(errDeclined)
	}
	id, err := r.effect(ctx, job.Main)
	if err != nil {
		return job.Result{}, err
	}
	r.pause()
	return r.result(map[string]string{job.Main: id}), nil
}

// steps has an effect in each step, and may stumble between them.
func (w *worker) steps(ctx context.Context, request job.Request) (job.Result, error) {
	r := w.begin(ctx, request)
	effects := map[string]string{}
	for n := range r.Steps {
		if err := r.stumble(ctx); err != nil {
			return job.Result{}, err
		}
		id, err := idempotent.Step(ctx, job.Step(n), func(ctx context.Context) (string, error) {
			r.pause()
			return r.effect(ctx, job.Step(n))
		})
		if err != nil {
			return job.Result{}, err
		}
		effects[job.Step(n)] = id
	}
	if r.Decline {
		return job.Result{}, idempotent.Permanent(errDeclined)
	}
	return r.result(effects), nil
}

// saga makes a booking in each step, and cancels all of them if it declines.
func (w *worker) saga(ctx context.Context, request job.Request) (job.Result, error) {
	r := w.begin(ctx, request)
	if err := r.stumble(ctx); err != nil {
		return job.Result{}, err
	}
	effects := map[string]string{}
	for n := range r.Steps {
		made, err := idempotent.SagaStep(ctx, job.Step(n), func(ctx context.Context) (m booking, err error) {
			r.pause()
			if m.ID, err = r.book(ctx, n); err != nil {
				return m, err
			}
			m.Effect, err = r.effect(ctx, job.Step(n))
			return m, err
		}, func(ctx context.Context, m booking) error {
			r.pause()
			if _, err := r.effect(ctx, job.Undo(n)); err != nil {
				return err
			}
			return r.cancel(ctx, m.ID)
		})
		if err != nil {
			return job.Result{}, err
		}
		effects[job.Step(n)] = made.Effect
	}
	if r.Decline {
		return job.Result{}, idempotent.Permanent(errDeclined)
	}
	return r.result(effects), nil
}

// booking is the result of a step of a saga.
type booking struct {
	ID     string `json:"id"`
	Effect string `json:"effect"`
}

// transaction has all of its effects in the transaction of its record.
func (w *worker) transaction(ctx context.Context, request job.Request) (job.Result, error) {
	r := w.begin(ctx, request)
	r.pause()
	if err := r.stumble(ctx); err != nil {
		return job.Result{}, err
	}
	tx, e := dynamo.Collect(ctx), r.newEffect(job.Main)
	var err error
	if e.Early, err = r.early(ctx); err != nil {
		return job.Result{}, r.failed(err)
	}
	tx.Put(w.Effects, e)
	tx.Update(w.Effects, map[string]string{"id": job.Account(r.Account)}, expression.Add(expression.Name("balance"), expression.Value(1)))
	if r.Decline {
		return job.Result{}, idempotent.Permanent(errDeclined)
	}
	return r.result(map[string]string{job.Main: e.ID}), nil
}

// record does the work of one record of a batch.
func (w *worker) record(ctx context.Context, request job.Request) error {
	if request.Account > 0 {
		_, err := w.transaction(ctx, request)
		return err
	}
	_, err := w.plain(ctx, request)
	return err
}
