package record

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
)

type Rows struct {
	W    io.Writer
	JSON bool
	N    int // written so far
}

// Write writes a record. before is the time at which it was read, less the clock skew.
func (o *Rows) Write(r *Record, before time.Time) error {
	if o.N++; o.JSON {
		return cli.WriteJSON(o.W, r.JSON(before))
	}
	if o.N == 1 {
		o.columns("STATUS", "STATE", "ATTEMPT", "SINCE", "EXPIRES", "ERROR", "RECORD")
	}
	attempt := "-"
	if r.Attempt > 0 {
		attempt = fmt.Sprint(r.Attempt)
	}
	o.columns(cli.Printable(string(r.Status)), string(r.StateAt(before)), attempt, cli.Stamp(r.Since(before)), cli.Stamp(r.Expires),
		cmp.Or(cli.Printable(r.Cause()), "-"), cli.Printable(r.ID))
	return nil
}

func (o *Rows) columns(status, state, attempt, since, expires, cause, id string) {
	fmt.Fprintf(o.W, "%-10s  %-9s  %7s  %-20s  %-20s  %-16s  %s\n", status, state, attempt, since, expires, cause, id)
}
