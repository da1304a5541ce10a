package template

import (
	"fmt"
	"slices"
)

// relayActions are the actions of a relay on the table and on its stream, which share
// a logical id.
var relayActions = []string{
	"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams", "dynamodb:UpdateItem",
}

// unpublished passes the items that a transaction writes, also over an older item.
// It passes no marks, which would come back to the relay.
const unpublished = `{"dynamodb":{"NewImage":{"published":{"N":[{"exists":false}]}}},"eventName":["INSERT","MODIFY"]}`

// outboxes checks outboxes, the functions that write to them, and their relays,
// which have no records.
func (c *checker) outboxes() {
	relayed, writers := map[string]bool{}, map[string]string{}
	for _, f := range c.Functions() {
		outbox := f.Outbox()
		if outbox == "" {
			continue
		}
		want := relayActions
		if f.Table() != "" {
			want, writers[f.ID] = []string{"dynamodb:PutItem"}, outbox
		} else {
			relayed[outbox] = true
			c.relay(f.ID, outbox)
		}
		if got := f.On(outbox); !slices.Equal(got, want) {
			c.say("%s may %v with the outbox, and needs %v", f.ID, got, want)
		}
	}
	for id, outbox := range writers {
		if !relayed[outbox] {
			c.say("%s: no relay publishes the messages of %s", outbox, id)
		}
	}
}

func (c *checker) relay(function, outbox string) {
	table := c.Resources()[outbox]
	if view := table.at("StreamSpecification", "StreamViewType"); view != "NEW_IMAGE" {
		c.say("%s: its stream has the view %v", outbox, view)
	}
	if keys := fmt.Sprint(table.at("KeySchema")); keys != "[map[AttributeName:aggregate KeyType:HASH] map[AttributeName:id KeyType:RANGE]]" {
		c.say("%s has the keys %s", outbox, keys)
	}
	sources := 0
	for id, r := range c.Resources(mapping) {
		if target(r.at("FunctionName")) != function {
			continue
		}
		sources++
		if target(r.at("EventSourceArn")) != outbox {
			c.say("%s feeds a relay from something else than its outbox", id)
		}
		if factor := r.at("ParallelizationFactor"); factor != nil && number(factor) != 1 {
			c.say("%s runs %v batches of a shard at once, and only the writes to one item stay in order", id, factor)
		}
		if got := fmt.Sprint(r.at("FilterCriteria", "Filters")); got != "[map[Pattern:"+unpublished+"]]" {
			c.say("%s passes %s", id, got)
		}
	}
	if sources != 1 {
		c.say("%s has %d sources", function, sources)
	}
}
