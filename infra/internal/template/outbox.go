package template

import (
	"fmt"
	"slices"
)

// relayActions returns the actions of a relay on the table and on its stream,
// which share a logical id.
func relayActions() []string {
	return []string{
		"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams", "dynamodb:UpdateItem",
	}
}

// unpublished passes the items that a transaction writes, also over an older item.
// It passes no marks, which would come back to the relay.
const unpublished = `{"dynamodb":{"NewImage":{"published":{"N":[{"exists":false}]}}},"eventName":["INSERT","MODIFY"]}`

// checkOutbox checks outboxes, the functions that write to them, and their relays,
// which have no records.
func (t Template) checkOutbox(say func(string, ...any)) {
	relayed := map[string]bool{}
	for _, f := range t.Functions() {
		switch outbox := f.Outbox(); {
		case outbox == "":
		case f.Table() != "":
			if got := f.On(outbox); !slices.Equal(got, []string{"dynamodb:PutItem"}) {
				say("%s may %v with the outbox", f.ID, got)
			}
		default:
			relayed[outbox] = true
			if got := f.On(outbox); !slices.Equal(got, relayActions()) {
				say("%s may %v, a relay needs %v", f.ID, got, relayActions())
			}
			t.checkRelay(f.ID, outbox, say)
		}
	}
	for _, f := range t.Functions() {
		if outbox := f.Outbox(); outbox != "" && !relayed[outbox] {
			say("%s: no relay publishes the messages of %s", outbox, f.ID)
		}
	}
}

func (t Template) checkRelay(function, outbox string, say func(string, ...any)) {
	table := t.Resources()[outbox].Properties()
	stream, _ := table["StreamSpecification"].(map[string]any)
	if stream["StreamViewType"] != "NEW_IMAGE" {
		say("%s: its stream is %v", outbox, stream)
	}
	var keys []string
	for _, key := range list(table["KeySchema"]) {
		k, _ := key.(map[string]any)
		keys = append(keys, fmt.Sprint(k["AttributeName"]))
	}
	if !slices.Equal(keys, []string{"aggregate", "id"}) {
		say("%s has the keys %v", outbox, keys)
	}
	sources := 0
	for id, mapping := range t.Resources("AWS::Lambda::EventSourceMapping") {
		p := mapping.Properties()
		if target(p["FunctionName"]) != function {
			continue
		}
		sources++
		if target(p["EventSourceArn"]) != outbox {
			say("%s feeds a relay from something else than its outbox", id)
		}
		if factor, set := p["ParallelizationFactor"]; set && number(factor) != 1 {
			say("%s runs %v batches of a shard at once, and only the writes to one item stay in order", id, factor)
		}
		filters, _ := p["FilterCriteria"].(map[string]any)
		if got := fmt.Sprint(filters["Filters"]); got != "[map[Pattern:"+unpublished+"]]" {
			say("%s passes %s", id, got)
		}
	}
	if sources != 1 {
		say("%s has %d sources", function, sources)
	}
}
