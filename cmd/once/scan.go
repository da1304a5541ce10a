package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/internal/attribute"
)

// scanFlags are the flags of the commands that read the whole table.
type scanFlags struct {
	tableFlags
	operation, status, prefix string
	skew                      time.Duration
	json, quiet               bool
}

func (o *scanFlags) add(f *flag.FlagSet) {
	o.tableFlags.add(f)
	f.StringVar(&o.operation, "operation", "", "only the records of this `operation`")
	f.StringVar(&o.prefix, "prefix", "", "only records whose id begins with this `text`")
	f.StringVar(&o.status, "status", "", "only records of this `status`: INPROGRESS, COMPLETED or FAILED")
	durationVar(f, &o.skew, "clock-skew", time.Second, "Config.ClockSkew of the functions, a `duration`: a lease is live for so much longer")
	f.BoolVar(&o.json, "json", false, "write JSON")
	f.BoolVar(&o.quiet, "quiet", false, "print no progress")
}

// openAll parses the flags and opens the table.
func (o *scanFlags) openAll(ctx context.Context, f *flag.FlagSet, args []string) (*table, error) {
	if _, err := parse(f, args, 0); err != nil {
		return nil, err
	}
	if o.prefix != "" && o.operation != "" {
		return nil, endf(codeUsage, "--prefix excludes --operation: it begins with the operation itself")
	}
	if o.skew < 0 {
		return nil, errSkew
	}
	switch o.status = strings.ToUpper(o.status); o.status {
	case "", "INPROGRESS", "COMPLETED", "FAILED":
	default:
		return nil, endf(codeUsage, "--status is none of INPROGRESS, COMPLETED and FAILED")
	}
	return o.open(ctx)
}

// query is what a scan reads.
type query struct {
	filter []string
	x      expression
	short  bool // without results and steps, which are most of a record
}

// query returns the query of the flags. An item without a status is not a record:
// the table may contain other items.
func (o *scanFlags) query(t *table) *query {
	q := &query{x: expression{names: map[string]string{}, values: map[string]types.AttributeValue{}}}
	if o.status == "" {
		q.filter = append(q.filter, "attribute_exists("+q.x.name(t.attr.Status)+")")
	} else {
		q.filter = append(q.filter, q.x.name(t.attr.Status)+" = "+q.x.value(attribute.Text(o.status)))
	}
	prefix := o.prefix
	if o.operation != "" {
		prefix = o.operation + "#"
	}
	if prefix != "" {
		id := t.attr.ID
		if t.attr.SortKey != "" {
			id = t.attr.SortKey
		}
		q.filter = append(q.filter, "begins_with("+q.x.name(id)+", "+q.x.value(attribute.Text(prefix))+")")
	}
	return q
}

func (q *query) input(t *table) *dynamodb.ScanInput {
	in := &dynamodb.ScanInput{
		FilterExpression:       aws.String(strings.Join(q.filter, " AND ")),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		TableName:              &t.name,
	}
	if q.short {
		var all []string
		a := t.attr
		for _, name := range []string{a.ID, a.SortKey, a.Status, a.Owner, a.Attempt, a.Refunds, a.Lease, a.Expiration, a.Validation} {
			if name != "" {
				all = append(all, q.x.name(name))
			}
		}
		in.ProjectionExpression = aws.String(strings.Join(all, ", "))
	}
	in.ExpressionAttributeNames = q.x.names
	if len(q.x.values) > 0 {
		in.ExpressionAttributeValues = q.x.values
	}
	return in
}

// scan reads the table page by page, and stores none. DynamoDB bounds a page to
// 1 MB.
func (t *table) scan(ctx context.Context, q *query, p *progress, each func(*record) error) error {
	pages := dynamodb.NewScanPaginator(t.client, q.input(t))
	defer p.end()
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return t.failed(err)
		}
		for _, item := range page.Items {
			if err := each(t.record(item)); err != nil {
				return err
			}
		}
		p.page(page)
	}
	return nil
}

// progress is shown to a person who waits for a long scan.
type progress struct {
	to       io.Writer
	redraw   bool
	pages    int
	items    int
	units    float64
	reported int
	sweep    string // what a sweep does with records, such as "deleted"
	swept    int    // records, so far
}

const progressItems = 10_000

func (o *scanFlags) progress(to terminal) *progress { return newProgress(to, o.quiet) }

func newProgress(to terminal, quiet bool) *progress {
	p := &progress{to: to.err, redraw: isTerminal(to.err)}
	if quiet {
		p.to = io.Discard
	}
	return p
}

func (p *progress) page(out *dynamodb.ScanOutput) {
	p.pages++
	p.items += int(out.ScannedCount)
	if c := out.ConsumedCapacity; c != nil {
		p.units += aws.ToFloat64(c.CapacityUnits)
	}
	p.tell(p.items)
}

// tell shows the progress after n items: on a terminal from the second page on,
// elsewhere after every 10,000 items or so.
func (p *progress) tell(n int) {
	switch {
	case p.redraw && p.pages > 1:
		fmt.Fprintf(p.to, "\r%s\x1b[K", p)
	case !p.redraw && n-p.reported >= progressItems:
		p.reported = n
		fmt.Fprintln(p.to, p)
	}
}

func (p *progress) end() {
	if p.redraw && p.pages > 1 {
		fmt.Fprintln(p.to)
	}
}

func (p *progress) String() string {
	var did []string
	if p.items > 0 {
		did = append(did, fmt.Sprintf("read %d items in %d pages, %.0f read units", p.items, p.pages, p.units))
	}
	if p.sweep != "" {
		did = append(did, fmt.Sprintf("%s %d records", p.sweep, p.swept))
	}
	return strings.Join(did, ", ")
}

// isTerminal reports whether f is a terminal, well enough to choose a layout.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}
