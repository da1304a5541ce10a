package main

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// extent is what a scan of the whole table reads, about: servers count now and then. Of what
// is not known it has 0, or less.
type extent struct {
	items int64
	bytes int64 // where reads are billed
}

// askAbove is the size of a table of which nobody should start a scan by accident.
const askAbove = 1 << 30

func (t *table) size(ctx context.Context) (extent, error) {
	d, err := t.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &t.name})
	if err != nil {
		return extent{}, err
	}
	return extent{aws.ToInt64(d.Table.ItemCount), aws.ToInt64(d.Table.TableSizeBytes)}, nil
}

// begin asks before a scan that costs, and returns its progress. A size that is not known
// prevents no scan.
func (o *scanFlags) begin(ctx context.Context, c *call, t *store) (*progress, error) {
	p := o.progress(c)
	is, err := t.size(ctx)
	if err := ctx.Err(); err != nil {
		return nil, errInterrupted
	}
	if err != nil {
		fmt.Fprintf(p.to, "how much there is to read is not known: %v\n", err)
		return p, nil
	}
	p.total = max(is.items, 0)
	if is.bytes > askAbove && !o.yes {
		// Half a unit for each 4 KB: a scan is eventually consistent.
		fmt.Fprintf(c.err, "%s has about %d items in %.1f GB. To read them costs about %d read units.\n", t.place, is.items, float64(is.bytes)/1e9, is.bytes/8192)
		return p, c.ask(ctx, "nothing was read")
	}
	return p, nil
}
