package storetest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// diffAnswer compares the result of Change: the whole record after a takeover,
// otherwise the fields that the change has set.
func diffAnswer(c driver.Change, want, got driver.Record) string {
	if c.Owner != "" && c.Status == driver.Absent {
		return diff(want, got)
	}
	part := got
	if c.Release != 0 {
		part.Status, part.Owner, part.Lease = want.Status, want.Owner, want.Lease
		return diff(part, got)
	}
	if c.Status != driver.Absent {
		part.Status, part.Data, part.Payload, part.Unavailable = want.Status, want.Data, want.Payload, want.Unavailable
	}
	if c.Owner != "" {
		part.Owner = want.Owner
	}
	if !c.Lease.IsZero() {
		part.Lease = want.Lease
	}
	if !c.Expires.IsZero() {
		part.Expires = want.Expires
	}
	for name := range c.Steps {
		if data, ok := got.Steps[name]; !ok || !bytes.Equal(data, want.Steps[name]) {
			return fmt.Sprintf("step %q is %q, want %q", name, data, want.Steps[name])
		}
	}
	return diff(part, got)
}

// diff describes how two records differ. It is empty for equal records.
func diff(want, got driver.Record) string {
	if equal(want, got) {
		return ""
	}
	return fmt.Sprintf("got\n\t%s\nwant\n\t%s", show(got), show(want))
}

// equal reports whether two records are the same. It treats absent steps and an
// empty set of them as equal: a store need not distinguish them in a result.
func equal(want, got driver.Record) bool {
	if want.Status == driver.Absent && got.Status == driver.Absent {
		return true
	}
	return want.ID == got.ID && want.Status == got.Status && want.Owner == got.Owner &&
		want.Attempt == got.Attempt && want.Refunds == got.Refunds &&
		want.Lease.IsZero() == got.Lease.IsZero() && want.Lease.Equal(got.Lease) &&
		want.Expires.IsZero() == got.Expires.IsZero() && want.Expires.Equal(got.Expires) &&
		want.Began.IsZero() == got.Began.IsZero() && want.Began.Equal(got.Began) &&
		want.Ended.At.Equal(got.Ended.At) && want.Ended.Encode() == got.Ended.Encode() &&
		(want.Request == nil) == (got.Request == nil) && bytes.Equal(want.Request, got.Request) &&
		want.Fingerprint == got.Fingerprint && want.Payload == got.Payload && want.Unavailable == got.Unavailable &&
		(want.Data == nil) == (got.Data == nil) && bytes.Equal(want.Data, got.Data) &&
		maps.EqualFunc(want.Steps, got.Steps, bytes.Equal)
}

func show(r driver.Record) string {
	if r.Status == driver.Absent {
		return "no record"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%.80q %s owner %q attempt %d refunds %d lease %s expires %s began %s ended %.120s fingerprint %q request %.60q payload %q unavailable %q",
		r.ID, r.Status, r.Owner, r.Attempt, r.Refunds, stamp(r.Lease), stamp(r.Expires), stamp(r.Began), r.Ended.Encode(), r.Fingerprint, r.Request, r.Payload, r.Unavailable)
	if r.Data == nil {
		b.WriteString(" no data")
	} else {
		fmt.Fprintf(&b, " data (%d bytes) %.60q", len(r.Data), r.Data)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Steps)) {
		fmt.Fprintf(&b, " step %q = %.60q", name, r.Steps[name])
	}
	return b.String()
}

func (w *write) String() string {
	if w.creates() {
		return fmt.Sprintf("Create with cutoff %s of\n\t%s\n", stamp(w.cutoff), show(w.record))
	}
	// A change has the fields of a record, and data too large to print whole.
	f, c := w.fence, w.change
	set := driver.Record{ID: f.ID, Status: "as it is", Owner: c.Owner, Lease: c.Lease, Expires: c.Expires,
		Began: c.Began, Ended: c.Ended, Fingerprint: c.Fingerprint, Data: c.Data, Payload: c.Payload, Unavailable: c.Unavailable, Steps: c.Steps}
	if c.Status != driver.Absent {
		set.Status = c.Status
	}
	return fmt.Sprintf("Change under owner %q attempt %d lease %s to\n\t%s release %d\n",
		f.Owner, f.Attempt, stamp(f.Lease), show(set), c.Release)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "absent"
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
