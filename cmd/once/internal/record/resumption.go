package record

import (
	"fmt"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/idempotent/driver"
)

// A Resumption has a function of handlers.Resume, of this name, run the stored request.
type Resumption string

// May returns an error for a record that the function would leave.
func (o *Resumption) May(r *Record, now time.Time, skew time.Duration) ([]Objection, error) {
	s := r.StateAt(now.Add(-skew))
	_, owned := r.Execution()
	refuse := func(format string, args ...any) ([]Objection, error) {
		return nil, cli.Endf(cli.CodeRefused, "%s: %s; nothing was run", cli.Printable(r.ID), fmt.Sprintf(format, args...))
	}
	switch {
	case r.Status != driver.InProgress, s == Over:
		return refuse("the record is not in progress (%s)", s)
	case owned:
		return refuse("a durable execution owns it, and goes on by itself")
	case s != Lapsed && s != Released:
		return refuse("somebody may run it: its state is %s", s)
	case r.Request == nil:
		return refuse("its request is not stored, as it was claimed without Config.Resume: repeat the call, or resolve the record")
	}
	return nil, nil
}

func (o *Resumption) Write(*Record, time.Time, time.Duration) (Write, error) {
	what := cli.Present(" ", "The function", cli.Printable(string(*o)), "will run its stored request as its next attempt, and finish it or undo its steps.")
	return Write{What: what}, nil
}
