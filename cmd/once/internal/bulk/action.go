package bulk

import (
	"context"
	"errors"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/idempotent/driver"
)

// A run applies its Action to each record. The JSON of the action is in the journal.
type Action struct {
	record.Action
	// Read sets the action by the flags, unless they do that.
	Read func(yes bool) error
	// Call has a function finish a record, instead of a change, and reports whether it had the
	// time for it.
	Call func(ctx context.Context, id string) (inTime bool, err error)
}

// A CallError wraps the error of a function that was invoked and failed: the next one may not.
type CallError struct{ Err error }

func (e *CallError) Error() string { return e.Err.Error() }

func (e *CallError) Unwrap() error { return e.Err }

// weigh returns the first objection as an error: a run overrides none.
func weigh(all []record.Objection, err error) error {
	if err == nil && len(all) > 0 {
		err = errors.New(all[0].Reason)
	}
	return err
}

// settle returns the state of an item that was begun, by its record as it is now: done, or
// selected if the record is unchanged, or if a function decides again. Otherwise the item stays
// begun: a write that is still on its way has the same token.
func (a *Action) settle(i *item, r *record.Record) step {
	switch is := r.Version(); {
	case a.Call != nil && r != nil && r.Status != driver.InProgress, i.Token != "" && r != nil && r.Owner == i.Token, is == i.Then:
		return done
	case a.Call != nil && r != nil, is == i.As:
		return selected
	}
	return begun
}

func (a *Action) begin(i *item, r *record.Record, now time.Time, skew time.Duration) error {
	w, err := a.Write(r, now, skew)
	if err != nil {
		return err
	}
	switch i.read, i.change = r, w.Change; {
	case a.Call != nil:
	case w.Owner == "":
		i.Then = r.After(w.Change).Version()
	case i.Token == "":
		i.Token = w.Owner
	default: // that of the run before
		i.change.Owner = i.Token
	}
	return nil
}

var errChanged = errors.New("it has changed since it was selected")

// do carries out an item. After an error the next one would fail as well.
func (a *Action) do(ctx context.Context, s *store.Store, i *item) error {
	if a.Call != nil {
		return a.call(ctx, s, i)
	}
	_, err := s.Write(ctx, i.read, i.change)
	var end *cli.Ending
	var invalid *driver.InvalidWriteError
	switch {
	case err == nil:
		i.end(done, nil)
	case errors.As(err, &invalid):
		i.end(refused, err)
	case !errors.As(err, &end):
		i.end(selected, nil)
		return err
	case end.Code == cli.CodeChanged:
		i.end(refused, errChanged)
	default:
		return a.look(ctx, s, i, begun, err)
	}
	return nil
}

func (a *Action) call(ctx context.Context, s *store.Store, i *item) error {
	inTime, err := a.Call(ctx, i.ID)
	var failed *CallError
	var end *cli.Ending
	switch {
	case errors.As(err, &failed):
		return a.look(ctx, s, i, begun, err)
	case errors.As(err, &end) && end.Code == cli.CodeUnacknowledged:
		return err
	case err != nil:
		i.end(selected, nil)
		return err
	case !inTime:
		return a.look(ctx, s, i, selected, nil)
	}
	return a.look(ctx, s, i, refused, errors.New("the function has not finished it: see its log"))
}

// look ends an item by its record: as done, or else as is.
func (a *Action) look(ctx context.Context, s *store.Store, i *item, is step, why error) error {
	r, err := s.Read(ctx, i.ID)
	switch {
	case err != nil && !store.IsMissing(err):
		i.end(begun, why)
		return err
	case a.settle(i, r) == done:
		is, why = done, nil
	}
	i.end(is, why)
	return nil
}
