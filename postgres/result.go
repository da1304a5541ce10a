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
	r.Lease, r.Expires, r.Began = driver.WholeMillis(r.Lease), driver.WholeSeconds(r.Expires), driver.WholeMillis(r.Began)
	if r.Status != driver.InProgress {
		r.Lease = time.Time{}
	}
	r.Steps = nil
	r.Data, r.Unavailable = l.fitResult(r.Data, r.Unavailable)
	return r
}

// fitResult replaces a result that is too large. That is not an error: the work is
// done, and without the record a retry would do it again.
func (l *layout) fitResult(data []byte, unavailable string) ([]byte, string) {
	if len(data) > l.maxSize {
		return nil, fmt.Sprintf("the result of %d bytes is larger than the %d bytes of postgres.Options.MaxSize", len(data), l.maxSize)
	}
	return data, unavailable[:min(len(unavailable), maxReason)]
}

// refusedSize returns the reason why the result data is unavailable that the
// server refused for its size.
func refusedSize(data []byte) string {
	return fmt.Sprintf("the result of %d bytes is larger than the server allows", len(data))
}

// checkRequest returns a [*sizeError] for a request that does not fit.
func (l *layout) checkRequest(request []byte) error {
	if len(request) > l.maxSize {
		return &sizeError{what: "the request", size: len(request), limit: l.maxSize}
	}
	return nil
}

// checkSize returns a [*sizeError] if the steps of c do not fit into the record
// that was read.
func (l *layout) checkSize(met row, c driver.Change) error {
	if len(c.Steps) == 0 {
		return nil
	}
	if size := met.size + len(encodeSteps(c.Steps)); size > l.maxSize {
		return &sizeError{what: "the steps of the record", size: size, limit: l.maxSize}
	}
	return nil
}
