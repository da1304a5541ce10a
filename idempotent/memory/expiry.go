package memory

import (
	"math"

	"github.com/lambda-once/once/idempotent/driver"
)

// entry is a record and its place in the heap of expiries.
type entry struct {
	rec    driver.Record
	expiry int64
	pos    int
}

// expiryOf returns the first cutoff, in milliseconds, for which Record.Expired
// holds.
func expiryOf(r driver.Record) int64 {
	const never = math.MaxInt64
	if r.Expires.IsZero() || r.Expires.Unix() >= never/1000-1 {
		return never
	}
	expiry := (r.Expires.Unix() + 1) * 1000
	if r.Status == driver.InProgress && !r.Lease.IsZero() {
		expiry = max(expiry, r.Lease.UnixMilli()+1)
	}
	return expiry
}

// expiries is a heap of all records, with the first to expire on top. A full
// store finds out in constant time whether it may remove any.
type expiries []*entry

func (h expiries) Len() int           { return len(h) }
func (h expiries) Less(i, j int) bool { return h[i].expiry < h[j].expiry }

func (h expiries) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = i, j
}

func (h *expiries) Push(x any) {
	e := x.(*entry)
	e.pos = len(*h)
	*h = append(*h, e)
}

func (h *expiries) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return e
}
