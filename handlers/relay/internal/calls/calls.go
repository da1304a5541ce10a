// Package calls sends the messages of a batch to a service of AWS, in as few calls as
// its limits allow.
package calls

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/idempotent/outbound"
)

// maxEntries bounds the messages of a call, at SQS, SNS and EventBridge.
const maxEntries = 10

// Publisher returns a Publisher whose calls have at most maxBytes. A longer message is
// sent alone: the service decides whether it accepts it. An error of prepare applies to
// its message. An error of send applies to all messages of the call.
func Publisher[E any](maxBytes int,
	prepare func(m outbound.Message) (entry E, bytes int, err error),
	send func(ctx context.Context, entries []E, r Results) error,
) relay.Publisher {
	return func(ctx context.Context, _ string, batch []outbound.Message) ([]error, error) {
		failed := make([]error, len(batch))
		var places []int // in the batch
		var entries []E
		size := 0
		flush := func() {
			if len(entries) == 0 {
				return
			}
			r := make(Results, len(entries))
			for i := range r {
				r[i] = &relay.UnansweredError{}
			}
			err := send(ctx, entries, r)
			for i, at := range places {
				if failed[at] = r[i]; err != nil {
					failed[at] = err
				}
			}
			places, entries, size = nil, nil, 0
		}
		for i, m := range batch {
			entry, bytes, err := prepare(m)
			if err != nil {
				failed[i] = err
				continue
			}
			if len(entries) == maxEntries || size+bytes > maxBytes {
				flush()
			}
			places, entries, size = append(places, i), append(entries, entry), size+bytes
		}
		flush()
		return failed, nil
	}
}

// Results are the results of a call, of each of its entries.
type Results []error

// ID returns the id of an entry: its index.
func ID(i int) *string { return aws.String(strconv.Itoa(i)) }

// Sent stores that the entry was accepted.
func (r Results) Sent(id *string) { r.set(id, nil) }

// Refused stores that the entry was refused.
func (r Results) Refused(id, code, message *string, senderFault bool) {
	r.set(id, &relay.RefusedError{Code: aws.ToString(code), Message: aws.ToString(message), SenderFault: senderFault})
}

// set ignores an id that the call did not have.
func (r Results) set(id *string, err error) {
	if i, wrong := strconv.Atoi(aws.ToString(id)); wrong == nil && i >= 0 && i < len(r) {
		r[i] = err
	}
}
