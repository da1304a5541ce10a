package postgres

import (
	"fmt"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// maxReason bounds the reason why a result is unavailable.
const maxReason = 4 << 10

// fit returns r as it is stored.
func (l *layout) fit(r driver.Record) driver.Record {
	r.Lease, r.Expires = wholeMillis(r.Lease), wholeSeconds(r.Expires)
	if r.Status != driver.InProgress {
		r.Lease = time.Time{}
	}
	r.Steps = nil
	r.Data, r.Unavailable = l.fitResult(r.Data, r.Unavailable)
	return r
}

// fitChange returns c as it is stored.
func (l *layout) fitChange(c driver.Change) driver.Change {
	c.Data, c.Unavailable = l.fitResult(c.Data, c.Unavailable)
	return c
}

// fitResult replaces a result that is too large. That is not an error: the work is
// done, and without the record a retry would do it again.
func (l *layout) fitResult(data []byte, unavailable string) ([]byte, string) {
	if len(data) > l.maxSize {
		return nil, fmt.Sprintf("the result of %d bytes is larger than the %d bytes of postgres.Options.MaxSize", len(data), l.maxSize)
	}
	return data, unavailable[:min(len(unavailable), maxReason)]
}
