package emf

import (
	"slices"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// Namespace is the default namespace of the metrics.
const Namespace = "Once"

// A Metric describes a metric that an [Observer] writes. Dashboards, alarms and
// their tests are built on these descriptions.
type Metric struct {
	Name string
	// Unit is the unit in CloudWatch.
	Unit string
	// Dimensions are the names of one set of dimensions.
	Dimensions []string
}

// Metrics returns every metric, once for each of its sets of dimensions.
func Metrics() []Metric {
	var all []Metric
	for _, d := range append(directives(Namespace), abandoned(Namespace)...) {
		for _, dimensions := range d.Dimensions {
			for _, m := range d.Metrics {
				all = append(all, Metric{Name: m.Name, Unit: m.Unit, Dimensions: slices.Clone(dimensions)})
			}
		}
	}
	return all
}

// directive declares to CloudWatch which members of the line are metrics: each
// of Metrics, for each of the sets of Dimensions.
type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []definition
}

type definition struct{ Name, Unit string }

// abandoned returns the directive of a round of handlers.Resume.
func abandoned(namespace string) []directive {
	return []directive{{namespace, [][]string{{"operation"}}, []definition{{"OldestAbandoned", "Seconds"}}}}
}

// directives returns the three directives of a call. AWS bills every metric of a directive for
// each of its sets of dimensions, so only Calls has the dimension outcome. Only a
// refused call has the last directive.
func directives(namespace string) []directive {
	return []directive{
		{namespace, [][]string{{"operation"}, {"operation", "outcome"}}, []definition{
			{"Calls", "Count"},
		}},
		{namespace, [][]string{{"operation"}}, []definition{
			{"LapsedLeases", "Count"},
			{"Refused", "Count"},
			{"StoreErrors", "Count"},
			{"StoreThrottles", "Count"},
			{"Overhead", "Milliseconds"},
			{"RoundTrips", "Count"},
		}},
		{namespace, [][]string{{"operation", "reason"}}, []definition{
			{"Refused", "Count"},
		}},
	}
}

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
