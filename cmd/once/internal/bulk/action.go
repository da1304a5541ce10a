package bulk

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/idempotent/driver"
)

// An Action is what a run does to each record. Its JSON is in the journal.
type Action struct {
	record.Action
	// Read sets the action by the flags, unless they do that.
	Read func(yes bool) error
	// Call has a function finish records, instead of a change, and reports whether it came to
	// the last one. After an error, it is not known what became of them.
	Call func(ctx context.Context, ids []string) (complete bool, err error)
}

// A CallError wraps the error of a function that was invoked and failed: the next one may not.
type CallError struct{ Err error }

func (e *CallError) Error() string { return e.Err.Error() }

func (e *CallError) Unwrap() error { return e.Err }

func afterCall(complete bool, err error) (is step, why error) {
	switch {
	case err != nil:
		return unknown, err
	case complete:
		return refused, errors.New("the function has not finished it: see its log")
	}
	return selected, nil
}

// weigh returns the first objection as an error: a run overrides none.
func weigh(all []record.Objection, err error) error {
	if err == nil && len(all) > 0 {
		err = errors.New(all[0].Reason)
	}
	return err
}

func (a *Action) batch() int {
	if a.Call != nil {
		return 25
	}
	return 1
}

// settle reports what became of an item that was begun: done, unknown, or selected if it is
// as it was, or the function decides again. A write that arrives yet has the same token.
func (a *Action) settle(i *item, r *record.Record) step {
	switch is := digest(r); {
	case a.Call != nil && r != nil && r.Status != driver.InProgress, i.Token != "" && r != nil && r.Owner == i.Token, is == i.Then:
		return done
	case a.Call != nil && r != nil, is == i.As:
		return selected
	}
	return unknown
}

func (a *Action) begin(i *item, r *record.Record, now time.Time, skew time.Duration) error {
	w, err := a.Write(r, now, skew)
	if err != nil {
		return err
	}
	switch i.read, i.change = r, w.Change; {
	case a.Call != nil:
	case w.Owner == "":
		i.Then = digest(after(r, w.Change))
	case i.Token == "":
		i.Token = w.Owner
	default: // that of the run before
		i.change.Owner = i.Token
	}
	return nil
}

// do carries out the items, and ends each. After an error the others are as they were begun.
func (a *Action) do(ctx context.Context, s *store.Store, items []*item) error {
	if a.Call == nil {
		return a.write(ctx, s, items[0])
	}
	var ids []string
	for _, i := range items {
		ids = append(ids, i.ID)
	}
	complete, err := a.Call(ctx, ids)
	var failed *CallError
	if err != nil && !errors.As(err, &failed) {
		return err
	}
	is, why := afterCall(complete, err)
	for _, i := range items {
		if err := a.look(ctx, s, i, is, why); err != nil {
			return err
		}
	}
	return nil
}

func (a *Action) write(ctx context.Context, s *store.Store, i *item) error {
	_, err := s.Write(ctx, i.read, i.change)
	var end *cli.Ending
	var invalid *driver.InvalidWriteError
	switch {
	case err == nil:
		i.end(done, nil)
	case errors.As(err, &invalid):
		i.end(refused, err)
	case !errors.As(err, &end):
		return err // nothing was written, and the next would fail as well
	case end.Code == cli.CodeChanged:
		i.end(changed, nil)
	default:
		return a.look(ctx, s, i, unknown, err)
	}
	return nil
}

// look ends an item by its record: as done, or else as is.
func (a *Action) look(ctx context.Context, s *store.Store, i *item, is step, why error) error {
	r, err := s.Read(ctx, i.ID)
	switch {
	case err != nil && !store.IsMissing(err):
		i.end(unknown, why)
		return err
	case a.settle(i, r) == done:
		is, why = done, nil
	}
	i.end(is, why)
	return nil
}

// digest returns a text that differs after whatever an owner or an operator writes.
func digest(r *record.Record) string {
	if r == nil {
		return "gone"
	}
	text := fmt.Sprintf("%s %q %d %d %d %d %q %d %q %q", r.Status, r.Owner, r.Lease.UnixMilli(), r.Attempt, r.Refunds, r.Expires.Unix(),
		r.Fingerprint, len(r.Steps), r.Unavailable, r.Ended.Cut().Encode())
	return fmt.Sprintf("%.16x", sha256.Sum256([]byte(text)))
}

// after returns a record after a change without a new owner: a release or a redaction.
func after(r *record.Record, c driver.Change) *record.Record {
	e := r.Entry
	switch c.Release {
	case driver.ReleaseDelete:
		return nil
	case driver.ReleaseRefund:
		e.Refunds++
	case 0:
		e.Unavailable, e.Ended, e.Steps, e.Lease = c.Unavailable, c.Ended, nil, time.Time{}
		return record.New(e)
	}
	e.Owner, e.Lease = "", driver.LeaseEnded
	return record.New(e)
}
