package main

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// The process is killed right after an order. The completions of the orders before
// it may still wait for each other.
func TestKilledBatchPlacesNoMoreThanUnrecordedAgain(t *testing.T) {
	const size, unrecorded = 20, 10
	for _, last := range []int64{1, 5, 10, 11, 15, 20} {
		t.Run(fmt.Sprint("after order ", last), func(t *testing.T) {
			t.Parallel()
			seen := newTap(t)
			f := deploy(t, 6*time.Second, "AWS_ENDPOINT_URL_DYNAMODB="+seen.URL())
			var placed atomic.Int64
			seen.respondAfter(func(r *wire.Request) {
				if r.Operation == "PutItem" && isAbout(r, f.orders) && placed.Add(1) == last {
					check.Nil(t, f.Environment(0).Kill())
				}
			})
			left := orders(0, size)
			if answer, err := deliver(t.Context(), f.Environment(0), left...); err == nil {
				t.Errorf("the killed process answers %s", answer)
			}
			for range 10 {
				answer, err := deliver(t.Context(), f.Environment(1), left...)
				check.Must(t, err)
				left = slices.DeleteFunc(left, func(m message) bool { return !strings.Contains(answer, `"`+m[0]+`"`) })
				if len(left) == 0 {
					break
				}
			}
			times := map[string]int{}
			for _, e := range f.executions(t) {
				times[e.OrderID]++
			}
			again := 0
			for _, n := range times {
				again += n - 1
			}
			t.Logf("placed again: %d", again)
			if len(times) != size || again > unrecorded {
				t.Errorf("%d orders are placed, %d of them again", len(times), again)
			}
		})
	}
}
