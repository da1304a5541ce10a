package outbox

import (
	"context"

	"github.com/lambda-once/once/handlers"
)

const (
	maxEntries = 10 // of one call, at each of the three
	// maxBytes of one call is the smallest of their limits. A message that is
	// longer goes alone: whether it can be sent is the service's to say.
	maxBytes = 256 << 10
)

// calls sends a batch in as few calls as its size allows. An error of prepare
// is its message's own; one of send is that of all that were in the call.
func calls[E any](ctx context.Context, batch []handlers.OutboxMessage,
	prepare func(m handlers.OutboxMessage) (value E, bytes int, err error),
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
		ends, err := send(ctx, entries)
		for i, at := range places {
			switch {
			case err != nil:
				failed[at] = err
			case i < len(ends):
				failed[at] = ends[i]
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
