// Package checks looks whether functions can use a store, and plays a first call.
package checks

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/lambda-once/once/cmd/once/internal/store"
)

type Verdict string

const (
	Fine    Verdict = "ok"
	Warning Verdict = "warning" // functions run, at a risk, or it is not known
	Wrong   Verdict = "wrong"   // functions fail
)

type Finding struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	Found   string  `json:"found"`
	ToDo    string  `json:"to_do,omitempty"`
}

// Findings are printed as they are found, unless To is nil.
type Findings struct {
	All   []Finding
	To    io.Writer
	Waits *store.Waits
	over  bool // as the command sends nothing more
}

// say adds a finding. One is about a server that does not answer, and those after it, or
// after an interrupt, are of requests that were not sent.
func (f *Findings) say(check string, v Verdict, found, toDo string) {
	if f.over {
		return
	}
	if err := f.Waits.Ended(); err != nil {
		f.over = true
		silent, ok := err.(*store.SilentError)
		if !ok {
			return
		}
		v, found, toDo = Wrong, silent.Found(), silent.Cause
	}
	f.add(check, v, found, toDo)
}

// add adds a finding of the command itself, also when it sends nothing more.
func (f *Findings) add(check string, v Verdict, found, toDo string) {
	f.All = append(f.All, Finding{check, v, found, toDo})
	if f.To == nil {
		return
	}
	const line = "%-7s  %-22s  %s\n"
	fmt.Fprintf(f.To, line, v, check, found)
	if toDo != "" {
		fmt.Fprintf(f.To, line, "", "", "-> "+toDo)
	}
}

type outcome struct {
	holds       bool
	verdict     Verdict
	found, toDo string
}

// first adds the first outcome that holds. If none does, it adds that the check is fine, or
// nothing if the text of that is empty.
func (f *Findings) first(check, isFine string, outcomes ...outcome) {
	outcomes = append(outcomes, outcome{isFine != "", Fine, isFine, ""})
	if i := slices.IndexFunc(outcomes, func(o outcome) bool { return o.holds }); i >= 0 {
		f.say(check, outcomes[i].verdict, outcomes[i].found, outcomes[i].toDo)
	}
}

func (f *Findings) Has(v Verdict) bool {
	return slices.ContainsFunc(f.All, func(found Finding) bool { return found.Verdict == v })
}

type Options struct {
	ID          string    // of no record, to call with
	Resume      bool      // with the index of handlers.Resume
	ReadOnly    bool      // without a first call
	Function    *Deployed // whose role is checked on a table of DynamoDB, or nil
	Group       bool      // whether that role may do what group commit calls, too
	Interrupted func()
}

// Store checks a store for functions, and makes a first call. If ctx ends in the call, its
// record is deleted still, which lingering leaves time for.
func (f *Findings) Store(ctx, lingering context.Context, t *store.Store, o Options) {
	of := f.of(t, o)
	if of.usable(ctx, o.ID) && !o.ReadOnly && ctx.Err() == nil {
		defer context.AfterFunc(ctx, o.Interrupted)()
		(&firstCall{Store: t, id: o.ID, found: f, repair: of.repair}).run(lingering, ctx.Done())
	}
}

type storeCheck interface {
	// usable checks the store for functions, and reports whether a call can be tried. id names
	// no record.
	usable(ctx context.Context, id string) bool
	// repair explains a request that failed, with its repair. err is nil if the request
	// returned a wrong result.
	repair(ctx context.Context, err error) (_ Verdict, toDo string)
}

func (f *Findings) of(t *store.Store, o Options) storeCheck {
	switch behind := t.Behind.(type) {
	case *store.PostgresTable:
		return &postgresCheck{behind, f}
	case *store.RedisServer:
		return &redisCheck{behind, f}
	default:
		return &tableCheck{behind.(*store.Table), f, o.Resume, o.Function, o.Group}
	}
}
