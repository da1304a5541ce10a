package crashmatrix

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/kill"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// shop is the program of an abandoned checkout.
const shop = "proof/crashmatrix/shop"

// abandoned is a checkout under Config.RefuseLate, ProviderMemory and Resume. Its services
// know keys.
type abandoned struct{ checkout }

func (a abandoned) set(ctx context.Context, s *stage) (*set, error) {
	w, err := a.checkout.set(ctx, s)
	if err == nil {
		w.Event = fmt.Appendf(nil, `{"orderId":"o-17","customer":"c-1","sku":"cup","card":%q,"placed":%q}`, a.card, time.Now().Format(time.RFC3339Nano))
	}
	return w, err
}

// repeated is a world whose client repeats its call, as that of any other mode.
func (a abandoned) repeated(ctx context.Context, s *stage) (*kill.World, error) {
	w, err := a.set(ctx, s)
	if err != nil {
		return nil, err
	}
	return w.World, nil
}

// resumed is a world whose client goes away with the process that is killed. A resumer
// finishes or undoes the order, and only then the client comes back.
func (a abandoned) resumed(ctx context.Context, s *stage) (*kill.World, error) {
	w, err := a.set(ctx, s)
	if err != nil {
		return nil, err
	}
	w.Glance = func(ctx context.Context) (broken, err error) {
		if err := w.lapse(ctx, s); err != nil {
			return nil, err
		}
		report, err := s.beside(ctx, w, lambdaruntime.NewWire(), []byte(`{}`), "ROLE=resumer")
		if err != nil {
			return nil, err
		}
		if !isComplete(report) {
			return fmt.Errorf("the resumer reports %s", report.Payload), nil
		}
		return w.left(ctx, s, new(kill.Run))
	}
	return w.World, nil
}

// left judges what a resumer leaves before the client is back: nothing that is half done.
func (w *set) left(ctx context.Context, s *stage, r *kill.Run) (broken, err error) {
	_, records, err := w.scan(ctx, s)
	switch done := w.services.Effects(); {
	case err != nil:
		return nil, err
	case len(records) == 0 && len(done) == 0: // the process died before its claim
		return nil, nil
	case len(records) != 1 || records[0].Status == driver.InProgress:
		return errors.New("no record is finished"), nil
	}
	return w.Check(ctx, r)
}

// resumer is a world in which the client has gone away, with a process that was killed
// between a step and its record, and the resumer is killed. When a later one has finished
// or undone the order, the client comes back.
func (a abandoned) resumer(ctx context.Context, s *stage) (*kill.World, error) {
	w, err := a.set(ctx, s)
	if err != nil {
		return nil, err
	}
	wire := lambdaruntime.NewWire()
	wire.KillAt(3, lambdaruntime.After) // behind next and the claim
	call := w.Event
	_, err = s.beside(ctx, w, wire, call)
	var died *lambdaruntime.CrashedError
	if !errors.As(err, &died) {
		return nil, errors.Join(errors.New("the first process survived"), err)
	}
	if err := w.lapse(ctx, s); err != nil {
		return nil, err
	}
	return &kill.World{
		Servers: w.Servers, Env: append(w.Env, "ROLE=resumer"), Event: []byte(`{}`), Close: w.Close,
		Final:  isComplete,
		Glance: func(ctx context.Context) (broken, err error) { return nil, w.lapse(ctx, s) },
		Check: func(ctx context.Context, r *kill.Run) (broken, err error) {
			if broken, err = w.left(ctx, s, r); broken != nil || err != nil {
				return broken, err
			}
			answer, err := s.beside(ctx, w, lambdaruntime.NewWire(), call)
			if err != nil {
				return nil, err
			}
			if !w.Final(answer) {
				broken = fmt.Errorf("the client is answered %s", answer.Payload)
			}
			again, err := w.Check(ctx, r)
			return cmp.Or(broken, again), err
		},
	}, nil
}

// isComplete reports whether a resumer has finished or undone all that was left behind.
func isComplete(r lambdaruntime.Response) bool {
	report, err := reported(r)
	return err == nil && report.Complete && report.Failed+report.Waiting+report.Left == 0
}

func reported(r lambdaruntime.Response) (report handlers.ResumeReport, err error) {
	if r.FunctionError != nil {
		return report, r.FunctionError
	}
	err = json.Unmarshal(r.Payload, &report)
	return report, err
}

// nothingMore requires that the next resumer finds nothing.
func nothingMore(_, later lambdaruntime.Response) error {
	report, err := reported(later)
	if want := (handlers.ResumeReport{Operation: "checkout", Complete: true}); err == nil && report != want {
		err = fmt.Errorf("a later resumer reports %s", later.Payload)
	}
	return err
}

// lapse ends the lease of a dead process, so that no run waits for it: an attempt takes over
// that died long ago. It fences the process, should that be alive.
func (w *set) lapse(ctx context.Context, s *stage) error {
	store, records, err := w.scan(ctx, s)
	for _, r := range records {
		if r.Status != driver.InProgress || r.Owner == "" {
			continue
		}
		_, _, failed := store.Change(ctx, driver.Fence{ID: r.ID, Owner: r.Owner, Attempt: r.Attempt, Lease: r.Lease},
			driver.Change{Owner: "dead", Lease: time.Now().Add(-time.Minute), Expires: r.Expires})
		err = errors.Join(err, failed)
	}
	return err
}

func (w *set) scan(ctx context.Context, s *stage) (*dynamo.Store, []driver.Entry, error) {
	store, err := dynamo.New(s.Client, w.records, nil)
	if err != nil {
		return nil, nil, err
	}
	page, err := store.Scan(ctx, driver.Filter{}, "")
	return store, page.Entries, err
}

// beside delivers an event to a process of the world of its own, behind the wire, which it
// closes.
func (s *stage) beside(ctx context.Context, w *set, wire *lambdaruntime.Wire, event []byte, env ...string) (r lambdaruntime.Response, err error) {
	defer func() { err = errors.Join(err, wire.Close()) }()
	f := lambdaruntime.Function{Name: "shop", Binary: s.binaries[shop], Env: append(s.Env(), env...), Timeout: kill.Patience}
	function, err := kill.Deploy(ctx, f, w.World, wire)
	if err != nil {
		return r, err
	}
	r, err = function.Invoke(ctx, event)
	return r, errors.Join(err, function.Close())
}
