package store

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/cmd/once/internal/cli"
)

// extent is what a scan of the whole table reads, about: servers count now and then. Of what
// is not known it has 0, or less.
type extent struct {
	items int64
	bytes int64 // where reads are billed
}

// askAbove is the size of a table of which nobody should start a scan by accident.
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
	if s.size == nil {
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
