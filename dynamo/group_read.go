package dynamo

import (
	"cmp"
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/idempotent/driver"
)

const opRead = "BatchGetItem"

// get reads a record, in a shared request if more reads wait.
func (g *grouping) get(ctx context.Context, id string) (driver.Record, error) {
	var st *statement
	if !g.off.Load() {
		st = &statement{id: id, read: true}
	}
	r, _, err := g.do(ctx, st, func() (driver.Record, bool, error) {
		r, err := g.store.get(ctx, id)
		return r, err == nil, err
	})
	return r, err
}

// answerReads makes the reads of a shared request.
func (g *grouping) answerReads(ctx context.Context, calls []*groupCall) {
	items, all := g.items(ctx, calls)
	for _, c := range calls {
		item, found := items[c.Work.id]
		if !found && !all {
			c.Answer(answer{alone: true})
			continue
		}
		r, err := g.store.read(opRead, item)
		c.Answer(answer{met: r, ok: err == nil, err: err})
	}
}

// readRefused settles the refused writes with their records. A single one is sent
// alone: it costs no more requests, and returns the very record that refuses it.
func (g *grouping) readRefused(ctx context.Context, refused []*groupCall) {
	if len(refused) == 0 || len(refused) == 1 && !g.readAll {
		goAlone(refused)
		return
	}
	items, _ := g.items(ctx, refused)
	for _, c := range refused {
		// Without an item, the write is sent alone, whether there is none or DynamoDB has
		// not processed its key. So it does not matter whether all were read.
		c.Answer(g.refusal(c.Work, items[c.Work.id]))
	}
}

// items reads the items of calls in one request, and reports whether it has read
// all. An item of a nil map may exist.
func (g *grouping) items(ctx context.Context, calls []*groupCall) (_ map[string]map[string]types.AttributeValue, all bool) {
	f := g.store.format
	keys := make([]map[string]types.AttributeValue, len(calls))
	for i, c := range calls {
		keys[i] = f.Key(c.Work.id)
	}
	out, err := g.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
		RequestItems: map[string]types.KeysAndAttributes{g.store.table: {ConsistentRead: aws.Bool(true), Keys: keys}},
	}, inTime(ctx))
	if err != nil {
		g.checkDenied(ctx, err, opRead)
		return nil, false
	}
	name := cmp.Or(f.Attr.SortKey, f.Attr.ID)
	items := make(map[string]map[string]types.AttributeValue, len(calls))
	for _, item := range out.Responses[g.store.table] {
		if id, ok := attribute.Plain(item[name]).(string); ok {
			items[id] = item
		}
	}
	return items, len(out.UnprocessedKeys) == 0
}
