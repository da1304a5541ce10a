package handlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/lambda-once/once/handlers/internal/lanes"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/checked"
)

// resumer resumes the records of one executor.
type resumer struct {
	Resumable
	x       *idempotent.Executor
	store   driver.Operable
	options ResumeOptions

	mu    sync.Mutex
	after string // the position at which the last invocation ran out of time
}

// round is one invocation.
type round struct {
	*resumer
	named     bool // the event names the records
	lastStart time.Time

	mu     sync.Mutex
	report ResumeReport
	oldest time.Duration
}

func (r *resumer) run(ctx context.Context, event ResumeEvent) (ResumeReport, error) {
	v := &round{resumer: r, named: len(event.IDs) > 0, report: ResumeReport{Operation: r.x.Operation()}}
	if deadline, ok := adapter.HandlerDeadline(ctx, r.x); ok {
		v.lastStart, _, _ = lanes.LastStart(deadline, adapter.Margin(r.x))
	}
	if v.named {
		err := v.resume(ctx, event.IDs)
		v.report.Complete = err == nil
		return v.report, unlessTime(err)
	}
	err := unlessTime(v.search(ctx))
	v.report.Oldest = int64(v.oldest / time.Second)
	if err == nil {
		v.observe(ctx, adapter.ObserverOf(r.x))
	}
	return v.report, err
}

func (v *round) observe(ctx context.Context, o idempotent.Observer) {
	switch o := o.(type) {
	case ResumeObserver:
		o.ObserveAbandoned(ctx, v.x.Operation(), v.oldest)
	case idempotent.Observers:
		for _, each := range o {
			v.observe(ctx, each)
		}
	}
}

// search resumes all records, page by page.
func (v *round) search(ctx context.Context) error {
	v.resumer.mu.Lock()
	defer v.resumer.mu.Unlock()
	for {
		began := time.Now()
		f := driver.Filter{Status: driver.InProgress, Prefix: v.x.Operation() + "#", Lapsed: v.cutoff(), Brief: true}
		page, err := v.store.Scan(ctx, f, v.after)
		if err != nil {
			return fmt.Errorf("handlers: Resume: search for records that were left behind: %w", err)
		}
		searched := time.Since(began)
		var ids []string
		for _, e := range page.Entries {
			if !checked.Is(e.ID) { // which a check has left that was killed
				ids = append(ids, e.ID)
			}
		}
		// In any order, and on with the next page if the time is up: records that take all of
		// the time, each time, must not keep the rest from being resumed.
		rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		err = v.resume(ctx, ids)
		if err == nil || err == errResumeTime {
			v.after = page.Next
		}
		switch {
		case err != nil:
			return err
		case v.after == "":
			v.report.Complete = true
			return nil
		case !v.pause(ctx, searched): // without an index, the search takes half of the server's time
			return errResumeTime
		}
	}
}

// cutoff returns the time before which a lease has lapsed, by every clock.
func (v *round) cutoff() time.Time { return time.Now().Add(-adapter.ClockSkew(v.x)) }

// pause reports whether there is time left after d.
func (v *round) pause(ctx context.Context, d time.Duration) bool {
	if !v.lastStart.IsZero() && time.Until(v.lastStart) <= d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

var errResumeTime = errors.New("handlers: Resume: the time is up")

// unlessTime returns err, unless it is that the time is up: the next invocation continues.
func unlessTime(err error) error {
	if err == errResumeTime {
		return nil
	}
	return err
}

// resume resumes records. An error is that of the store, or errResumeTime.
func (v *round) resume(ctx context.Context, ids []string) error {
	runner := lanes.Runner{Concurrency: v.options.Concurrency, LastStart: v.lastStart, Errors: lanes.Errors{OutOfTime: errResumeTime, Unfinished: errUnfinished}}
	results := runner.Run(ctx, lanes.Schedule{}, len(ids), func(ctx context.Context, turn *lanes.Turn) error {
		if err := turn.Take(ctx); err != nil {
			return err
		}
		return v.one(ctx, ids[turn.Index()])
	})
	return cmp.Or(results...)
}

// one resumes one record. It returns an error if that was not possible now, and counts
// any other end.
func (v *round) one(ctx context.Context, id string) error {
	met, err := v.store.Get(ctx, id)
	switch {
	case ctx.Err() != nil:
		return errResumeTime
	case errors.Is(err, driver.ErrUnavailable), errors.Is(err, driver.ErrDenied):
		return fmt.Errorf("handlers: Resume: read a record that was left behind: %w", err)
	case err != nil:
		met.ID = id
		v.left(ctx, met, err)
		return nil
	case met.Status != driver.InProgress || !met.Lapsed(v.cutoff()) || met.Expired(v.cutoff()) || !v.isAbandoned(met):
		return nil // since the search, or its caller may still repeat the call
	}
	request, err := adapter.Request(ctx, v.x, met)
	var event idempotent.Event
	if err == nil {
		ctx := adapter.With(ctx, adapter.Resumed(met), adapter.Wait(0), adapter.Event(&event), adapter.LastStart(v.lastStart, errResumeTime))
		err = guarded(func() error { return v.Call(ctx, request) })
	}
	switch event.Outcome {
	case idempotent.OutcomeExecuted, idempotent.OutcomeTakeover, idempotent.OutcomeReplayed:
		v.count(&v.report.Resumed)
	case idempotent.OutcomeConflict, idempotent.OutcomeLeaseLost: // a different call has it
	case idempotent.OutcomeNotRun, "":
		if errors.Is(err, errResumeTime) {
			return errResumeTime
		}
		v.left(ctx, met, err)
	default:
		switch waits := event.Attempt == 0 && errors.Is(err, idempotent.ErrOutcomeUnknown); {
		case event.Permanent:
			v.count(&v.report.Resumed)
		case waits:
			v.count(&v.report.Waiting) // its outcome rings, round for round
		default:
			v.count(&v.report.Failed)
			v.note(met)
		}
	}
	return nil
}

// isAbandoned reports whether no caller will repeat the call of a record whose lease is over.
// The caller of a first attempt that failed without a step has its error, and nothing to
// undo. A later attempt may be one of ours.
func (v *round) isAbandoned(met driver.Record) bool {
	return !met.Lease.Equal(driver.LeaseEnded) || v.named ||
		(len(met.Steps) > 0 || met.Attempt > 1) && time.Since(met.Began) > v.options.ReleasedAfter
}

func (v *round) count(n *int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	*n++
}

// left says why a record cannot be resumed.
func (v *round) left(ctx context.Context, met driver.Record, err error) {
	v.count(&v.report.Left)
	v.note(met)
	slog.Default().LogAttrs(ctx, slog.LevelError, "work that its caller left behind is not resumed",
		slog.String("operation", v.x.Operation()), slog.String("record_id", met.ID), slog.String("error", idempotent.SafeText(err)))
}

// note keeps the age of the oldest record that stays behind.
func (v *round) note(met driver.Record) {
	since := met.Began // the lease is that of the last attempt, which may be ours
	if since.IsZero() {
		since = met.Lease
	}
	if since.IsZero() || since.Equal(driver.LeaseEnded) {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.oldest = max(v.oldest, time.Since(since))
}
