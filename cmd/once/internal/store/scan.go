package store

import (
	"context"
	"encoding/base64"
	"flag"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/idempotent/driver"
)

type ScanFlags struct {
	Flags
	operation, prefix, after string
	Quiet, Yes               bool
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
}

func (o *ScanFlags) OpenAll(ctx context.Context, c *cli.Call) (*Store, error) {
	if _, err := c.Arguments(0); err != nil {
		return nil, err
	}
	if o.prefix != "" && o.operation != "" {
		return nil, cli.Endf(cli.CodeUsage, "--prefix excludes --operation: it begins with the operation itself")
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
	f := driver.Filter{Prefix: o.prefix}
	if o.operation != "" {
		f.Prefix = o.operation + "#"
	}
	return f
}

// extent is about as much as a scan of the whole table reads: servers count now and then. A
// number that is not known is 0, or less.
type extent struct {
	items int64
	bytes int64 // where reads are billed
}

// askAbove is the size of a table above which no scan starts by accident.
const askAbove = 1 << 30

func (t *Table) size(ctx context.Context) (extent, error) {
	d, err := t.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &t.Name})
	if err != nil {
		return extent{}, err
	}
	return extent{aws.ToInt64(d.Table.ItemCount), aws.ToInt64(d.Table.TableSizeBytes)}, nil
}

// Total returns about how many records there are, or 0 if that is not known.
func (s *Store) Total(ctx context.Context) int64 {
	if s.Behind == nil {
		return 0
	}
	is, err := s.size(ctx)
	if err != nil {
		return 0
	}
	return max(is.items, 0)
}

// Begin asks before a scan that costs, and returns its progress. A size that is not known
// prevents no scan.
func (o *ScanFlags) Begin(ctx context.Context, c *cli.Call, t *Store) (*Progress, error) {
	p := o.progress(c)
	is, err := t.size(ctx)
	if err := ctx.Err(); err != nil {
		return nil, ErrInterrupted
	}
	if err != nil {
		fmt.Fprintf(p.To, "how much there is to read is not known: %v\n", err)
		return p, nil
	}
	p.Total = max(is.items, 0)
	if is.bytes > askAbove && !o.Yes {
		// Half a unit for each 4 KB: a scan is eventually consistent.
		fmt.Fprintf(c.Err, "%s has about %d items in %.1f GB. To read them costs about %d read units.\n", t.Place, is.items, float64(is.bytes)/1e9, is.bytes/8192)
		return p, c.Ask(ctx, "nothing was read")
	}
	return p, nil
}
