package memory

import (
	"math"

	"github.com/lambda-once/once/idempotent/driver"
)

// entry is a record and its place in the heap of ends.
type entry struct {
	rec driver.Record
	end int64
	pos int
}

// endOf is the first millisecond at which Record.Over holds.
func endOf(r driver.Record) int64 {
	const never = math.MaxInt64
	if r.Expires.IsZero() || r.Expires.Unix() >= never/1000-1 {
		return never
	}
	end := (r.Expires.Unix() + 1) * 1000
	if r.Status == driver.InProgress && !r.Lease.IsZero() {
		end = max(end, r.Lease.UnixMilli()+1)
	}
	return end
}

// ends is a heap of all records, the one that is over first on top: a full
// store finds out in constant time whether anything may go.
type ends []*entry

func (h ends) Len() int           { return len(h) }
func (h ends) Less(i, j int) bool { return h[i].end < h[j].end }

func (h ends) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = i, j
}

func (h *ends) Push(x any) {
	e := x.(*entry)
	e.pos = len(*h)
	*h = append(*h, e)
}

func (h *ends) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return e
}
