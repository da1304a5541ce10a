package emf

import (
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// line is the line that is written for one call.
type line struct {
	AWS metadata `json:"_aws"`

	Operation string             `json:"operation"`
	Outcome   idempotent.Outcome `json:"outcome"`

	Calls          int
	LapsedLeases   int
	Refused        int
	StoreErrors    int
	StoreThrottles int
	Overhead       float64
	RoundTrips     int

	Reason    string  `json:"reason,omitempty"` // of a refused call
	KeyHash   string  `json:"key_hash,omitempty"`
	Attempt   int64   `json:"attempt"`
	HandlerMS float64 `json:"handler_ms"`
	Error     string  `json:"error,omitempty"`
}

// abandonedLine is the line that is written for one round of handlers.Resume.
type abandonedLine struct {
	AWS             metadata `json:"_aws"`
	Operation       string   `json:"operation"`
	OldestAbandoned float64
}

type metadata struct {
	Timestamp         int64
	CloudWatchMetrics []directive
}

// maxErrorType limits a line, with the longest operation and namespace, to the
// 4,096 bytes that a pipe accepts as one atomic write.
const maxErrorType = 1024 // bytes

// newLine returns the line of a call. It declares the last directive only for a
// refused call: the rest has no reason.
func newLine(now time.Time, d []directive, e idempotent.Event) line {
	refusal, refused := e.Refusal(), 1
	if refusal == "" {
		refused = 0
		d = d[:len(d)-1]
	}
	l := line{
		AWS:        metadata{Timestamp: now.UnixMilli(), CloudWatchMetrics: d},
		Operation:  e.Operation,
		Outcome:    e.Outcome,
		Calls:      1,
		Overhead:   milliseconds(e.Total - e.Handler),
		RoundTrips: e.RoundTrips,
		Refused:    refused,
		Reason:     string(refusal),
		KeyHash:    e.KeyHash,
		Attempt:    e.Attempt,
		HandlerMS:  milliseconds(e.Handler),
		Error:      e.ErrorType(),
	}
	if e.ErrorIs(idempotent.ErrStore) {
		l.StoreErrors = 1
		// The handler may have a throttled table of its own, so ErrThrottled
		// alone does not count.
		if e.ErrorIs(driver.ErrThrottled) {
			l.StoreThrottles = 1
		}
	}
	if e.Lapsed {
		l.LapsedLeases = 1
	}
	l.Error = l.Error[:min(len(l.Error), maxErrorType)]
	return l
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
