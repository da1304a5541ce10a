package dynamo

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/dynamo/internal/recorditem"
	"github.com/lambda-once/once/idempotent/driver"
)

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
