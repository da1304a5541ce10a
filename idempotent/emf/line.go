package emf

import (
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// line is what is written of one call.
type line struct {
	AWS metadata `json:"_aws"`

	Operation string             `json:"operation"`
	Outcome   idempotent.Outcome `json:"outcome"`

	Calls          int
	StoreErrors    int
	StoreThrottles int
	Overhead       float64
	RoundTrips     int

	KeyHash   string  `json:"key_hash,omitempty"`
	Attempt   int64   `json:"attempt"`
	HandlerMS float64 `json:"handler_ms"`
	Error     string  `json:"error,omitempty"`
}

type metadata struct {
	Timestamp         int64
	CloudWatchMetrics []directive
}

// maxErrorType keeps a line, with the longest operation and namespace, within
// the 4,096 bytes that a pipe takes at once, whoever else writes to it.
const maxErrorType = 1024 // bytes

func newLine(now time.Time, d []directive, e idempotent.Event) line {
	l := line{
		AWS:        metadata{Timestamp: now.UnixMilli(), CloudWatchMetrics: d},
		Operation:  e.Operation,
		Outcome:    e.Outcome,
		Calls:      1,
		Overhead:   milliseconds(e.Total - e.Handler),
		RoundTrips: e.RoundTrips,
		KeyHash:    e.KeyHash,
		Attempt:    e.Attempt,
		HandlerMS:  milliseconds(e.Handler),
		Error:      e.ErrorType(),
	}
	if e.ErrorIs(idempotent.ErrStore) {
		l.StoreErrors = 1
		// Not by itself: the handler may have a throttled table of its own.
		if e.ErrorIs(driver.ErrThrottled) {
			l.StoreThrottles = 1
		}
	}
	l.Error = l.Error[:min(len(l.Error), maxErrorType)]
	return l
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
