package store

import (
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"strings"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/idempotent/driver"
)

type ScanFlags struct {
	Flags
	operation, Status, prefix string
	after                     string
	Quiet                     bool
	Yes                       bool
}

func (o *ScanFlags) Add(f *flag.FlagSet) {
	o.Flags.Add(f)
	o.AddView(f)
	o.AddSelection(f)
	f.StringVar(&o.after, "after", "", "continue at this `position`, which an earlier run printed that did not reach the end")
	f.BoolVar(&o.Quiet, "quiet", false, "print no progress")
	f.BoolVar(&o.Yes, "yes", false, "do not ask before a table of more than a gigabyte is read")
}

func (o *ScanFlags) AddSelection(f *flag.FlagSet) {
	f.StringVar(&o.operation, "operation", "", "only the records of this `operation`")
	f.StringVar(&o.prefix, "prefix", "", "only records whose id begins with this `text`")
	f.StringVar(&o.Status, "status", "", "only records of this `status`: INPROGRESS, COMPLETED or FAILED")
}

func (o *ScanFlags) OpenAll(ctx context.Context, c *cli.Call) (*Store, error) {
	if _, err := c.Arguments(0); err != nil {
		return nil, err
	}
	if o.prefix != "" && o.operation != "" {
		return nil, cli.Endf(cli.CodeUsage, "--prefix excludes --operation: it begins with the operation itself")
	}
	switch o.Status = strings.ToUpper(o.Status); o.Status {
	case "", "INPROGRESS", "COMPLETED", "FAILED":
	default:
		return nil, cli.Endf(cli.CodeUsage, "--status is none of INPROGRESS, COMPLETED and FAILED")
	}
	if c.Given("after") && o.after == "" {
		return nil, ErrNoPosition
	}
	after, err := base64.RawURLEncoding.DecodeString(o.after)
	if err != nil {
		return nil, cli.Endf(cli.CodeUsage, "--after is no position that %s has printed", c.Name())
	}
	o.after = string(after)
	return o.Open(ctx, c)
}

var ErrNoPosition = cli.Endf(cli.CodeUsage, "--after names no position; is a variable unset?")

func (o *ScanFlags) progress(c *cli.Call) *Progress {
	p := NewProgress(c.Terminal, o.Quiet)
	p.next = o.after
	return p
}

func (o *ScanFlags) Stopped(ctx context.Context, p *Progress, err error) error {
	if err != nil && ctx.Err() != nil {
		err = ErrInterrupted
	}
	if err == nil || p.Pages == 0 {
		return err
	}
	return fmt.Errorf("%w; %s; continue with --after %s", err, p, p.After())
}

func (o *ScanFlags) Query() driver.Filter {
	f := driver.Filter{Status: driver.Status(o.Status), Prefix: o.prefix}
	if o.operation != "" {
		f.Prefix = o.operation + "#"
	}
	return f
}
