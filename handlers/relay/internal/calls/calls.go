// Package calls sends the messages of a batch to a service of AWS, in as few calls as
// its limits allow.
package calls

import (
	"context"
	"strconv"

	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/idempotent/driver"
)

// EventBridge took less than 256 KiB until 2026. A queue or topic may have that as its
// MaximumMessageSize, and refuses a larger call as a whole.
const maxEntries, maxBytes = 10, 256<<10 - 1

// Publisher returns a Publisher whose calls have at most maxEntries and maxBytes. A longer
// message is sent alone: the service decides whether it accepts it. An error of prepare
// applies to its message. send deletes the ids of the messages that are sent from failed;
// its error applies to all ids.
func Publisher[E any](
	prepare func(id string, m driver.OutboxMessage) (entry E, bytes int, err error),
	send func(ctx context.Context, ids []string, entries []E, failed map[string]error) error,
) relay.Publisher {
	return func(ctx context.Context, _ string, batch []driver.OutboxMessage) ([]error, error) {
		failed := make(map[string]error, len(batch))
		ids, entries, size := []string{}, []E{}, 0 // of the next call
		flush := func() {
			if err := send(ctx, ids, entries, failed); err != nil {
				for _, id := range ids {
					failed[id] = err
				}
			}
			ids, entries, size = nil, nil, 0
		}
		for i, m := range batch {
			id := strconv.Itoa(i)
			entry, bytes, err := prepare(id, m)
			if failed[id] = err; err != nil {
				continue
			}
			if len(ids) == maxEntries || len(ids) > 0 && size+bytes > maxBytes {
				flush()
			}
			failed[id] = &relay.MessageError{Reason: "the service returned no result for it"}
			ids, entries, size = append(ids, id), append(entries, entry), size+bytes
		}
		if len(ids) > 0 {
			flush()
		}
		results := make([]error, len(batch))
		for i := range results {
			results[i] = failed[strconv.Itoa(i)]
		}
		return results, nil
	}
}
