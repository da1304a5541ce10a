package outbox

import (
	"context"

	"github.com/lambda-once/once/idempotent/outbound"
)

const (
	maxEntries = 10 // of one call, at each of the three
	// maxBytes is the smallest limit of a call. A longer message is sent alone:
	// the service decides whether it accepts it.
	maxBytes = 256 << 10
)

// calls sends a batch in as few calls as its size allows. An error of prepare applies
// to its message. An error of send applies to all messages of the call.
func calls[E any](ctx context.Context, batch []outbound.Message,
	prepare func(m outbound.Message) (value E, bytes int, err error),
	send func(ctx context.Context, entries []E) (failed []error, err error),
) []error {
	failed := make([]error, len(batch))
	var places []int // in the batch
	var entries []E
	size := 0
	flush := func() {
		if len(entries) == 0 {
			return
		}
		results, err := send(ctx, entries)
		for i, at := range places {
			switch {
			case err != nil:
				failed[at] = err
			case i < len(results):
				failed[at] = results[i]
			default:
				failed[at] = errNoAnswer
			}
		}
		places, entries, size = nil, nil, 0
	}
	for i, m := range batch {
		value, bytes, err := prepare(m)
		if err != nil {
			failed[i] = err
			continue
		}
		if len(entries) == maxEntries || size+bytes > maxBytes {
			flush()
		}
		places, entries = append(places, i), append(entries, value)
		size += bytes
	}
	flush()
	return failed
}
