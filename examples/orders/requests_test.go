package main

import (
	"slices"
	"strconv"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// The claims of a batch share a request, and its completions share one, however long
// each order takes. Messages that are delivered again share one read.
//
// A claim waits for the rest of its batch for 2 ms at most. On a busy machine one
// may come later, so the median of several batches counts.
func TestABatchNeedsTwoRequests(t *testing.T) {
	const batches = 9
	seen := newTap(t)
	f := deploy(t, 0, "AWS_ENDPOINT_URL_DYNAMODB="+seen.URL())
	var sent [2][]int
	for i := range batches {
		for again := range sent {
			seen.about(f.records)
			messages := orders(10*i, 10*i+10)
			for m := range messages {
				messages[m][2] = strconv.Itoa(again + 1)
			}
			if got, err := deliver(t.Context(), f.Environment(0), messages...); err != nil || got != allPlaced {
				t.Fatalf("%s, %v", got, err)
			}
			sent[again] = append(sent[again], len(seen.about(f.records)))
		}
	}
	t.Logf("requests for new batches: %v; delivered again: %v", sent[0], sent[1])
	for again, most := range []int{2, 1} {
		if slices.Sort(sent[again]); sent[again][batches/2] > most {
			t.Errorf("delivery %d: more than %d requests for most batches: %v", again+1, most, sent[again])
		}
	}
	check.Equal(t, len(f.executions(t)), 10*batches, "orders are placed")
}
