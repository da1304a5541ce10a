package dynamo

import (
	"cmp"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/dynamo/internal/recorditem"
	"github.com/lambda-once/once/idempotent/driver"
)

// left returns the record that a successful change leaves, as far as it is known
// without a read. A larger response would be billed and not used.
func left(f driver.Fence, c driver.Change) driver.Record {
	r := driver.Record{
		ID: f.ID, Status: driver.InProgress, Owner: cmp.Or(c.Owner, f.Owner),
		Lease: driver.WholeMillis(c.Lease), Expires: driver.WholeSeconds(c.Expires), Steps: c.Steps,
	}
	if c.Release != 0 {
		r.Owner, r.Lease = "", driver.LeaseEnded
	}
	return r
}

// finished returns the record that a change leaves that finishes it, and the known
// part of its item.
func (s *Store) finished(f driver.Fence, c driver.Change) (driver.Record, map[string]types.AttributeValue) {
	r := left(f, c)
	r.Status, r.Data, r.Payload, r.Unavailable = c.Status, c.Data, c.Payload, c.Unavailable
	r.Ended = c.Ended
	if c.Owner != "" {
		r.Attempt = f.Attempt // as the fence requires
	}
	known := s.format.Item(r)
	known[s.format.Attr.Validation] = attribute.Text(c.Fingerprint) // for the size
	s.putResult(known, &r)
	return r, known
}

// putResult adds the result of a record to its item. A result that does not fit
// is not an error: the work is done, and without the record a retry would do it
// again. It is not sent, as DynamoDB refuses requests far above its limit in
// ways that depend on their size.
func (s *Store) putResult(item map[string]types.AttributeValue, r *driver.Record) {
	switch {
	case r.Unavailable != "":
		r.Unavailable = r.Unavailable[:min(len(r.Unavailable), recorditem.MaxReasonSize)]
		item[s.format.Attr.Data] = recorditem.Unavailable(r.Unavailable)
	case r.Payload != "":
		item[s.format.Attr.Data] = recorditem.Elsewhere(r.Payload)
	case r.Data != nil:
		item[s.format.Attr.Data] = s.format.Result(r.Data)
		if attribute.ItemSize(item) > attribute.MaxItemSize {
			s.putUnavailable(item, r)
		}
	}
}

// putUnavailable replaces the result of a record and of its item.
func (s *Store) putUnavailable(item map[string]types.AttributeValue, r *driver.Record) {
	r.Unavailable = fmt.Sprintf("the result of %d bytes does not fit into an item of DynamoDB, which holds %d", len(r.Data), attribute.MaxItemSize)
	r.Data = nil
	item[s.format.Attr.Data] = recorditem.Unavailable(r.Unavailable)
}
