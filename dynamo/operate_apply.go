package dynamo

import (
	"context"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/lambda-once/once/dynamo/internal/fault"
	"github.com/lambda-once/once/dynamo/internal/recorditem"
	"github.com/lambda-once/once/idempotent/driver"
)

// compared are the attributes that a change compares with those that were read.
var compared = []string{"#status", "#owner", "#attempt", "#refunds", "#lease", "#exp", "#validation", "#data", "#steps", "#began", "#ended", "#request"}

// Apply applies the change of an operator to a record that is stored exactly as e: see
// [driver.Operable]. It needs dynamodb:UpdateItem, and dynamodb:DeleteItem for a deletion.
// A result that does not fit into the item is an error.
func (s *Store) Apply(ctx context.Context, e driver.Entry, c driver.Change) (driver.Entry, bool, error) {
	err := e.Validate(c)
	item, ok := e.Stored.(map[string]types.AttributeValue)
	if err == nil && !ok {
		err = driver.ErrForeignEntry
	}
	if err != nil {
		return driver.Entry{}, false, s.refused("Apply", err)
	}
	u := s.changeOf(e.ID, c)
	s.asStored(u, item)
	var sent unacknowledged
	out, err := s.send(ctx, u, sent.watch)
	if err != nil {
		return s.unsettled(ctx, u, err, bool(sent))
	}
	return s.entry(out.Attributes, out.ResultMetadata), true, nil
}

// changeOf returns the update of a change, without a condition.
func (s *Store) changeOf(id string, c driver.Change) (u *update) {
	switch {
	case c.Release == driver.ReleaseDelete:
		return newUpdate(id, "")
	case c.Release != 0:
		u = keepUpdate(id, c, removeBegan)
	default:
		item := s.format.Item(driver.Record{ID: id, Status: c.Status, Ended: c.Ended})
		item[s.format.Attr.Data] = s.format.Result(c.Data)
		if c.Unavailable != "" {
			item[s.format.Attr.Data] = recorditem.Unavailable(c.Unavailable)
		}
		u = s.finishChange(id, c, item)
		if c.Owner != "" {
			u.adopt(c.Owner)
		}
		if c.Ended == (driver.Ending{}) {
			u.tail += removeEnded // of an earlier write of a person
		}
	}
	u.all = true
	return u
}

// asStored sets the condition that nothing has changed. Owner and lease alone are not
// enough: Powertools writes no owner, and a lease only if it knows one.
func (s *Store) asStored(u *update, item map[string]types.AttributeValue) {
	names := s.format.Names(nil, compared...)
	all := make([]string, len(compared))
	for i, placeholder := range compared {
		if v, ok := item[names[placeholder]]; ok {
			value := ":stored_" + placeholder[1:]
			all[i], u.values[value] = placeholder+" = "+value, v
		} else {
			all[i] = "attribute_not_exists(" + placeholder + ")"
		}
	}
	u.condition = strings.Join(all, " AND ")
}

// unsettled returns the result of a change that failed. An earlier try of the SDK
// may have been applied if one was not answered.
func (s *Store) unsettled(ctx context.Context, u *update, err error, unacknowledged bool) (met driver.Entry, _ bool, _ error) {
	failed := s.fail(u.op(), err)
	failed.notWritten = !unacknowledged
	refused := fault.ConditionFailed(err)
	switch {
	case refused != nil:
		met = s.entry(refused.Item, middleware.Metadata{})
	case fault.Conflict(err):
		if met, err = s.Inspect(ctx, u.id); err != nil {
			return driver.Entry{}, false, failed
		}
	default:
		return driver.Entry{}, false, failed
	}
	if unacknowledged {
		return met, false, failed
	}
	return met, false, nil
}

// unacknowledged records whether a try of the SDK to send a write had no answer: the
// answer to the last try says nothing about the tries before it.
type unacknowledged bool

func (u *unacknowledged) watch(o *dynamodb.Options) {
	look := middleware.DeserializeMiddlewareFunc("Unacknowledged", func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
		out, m, err := next.HandleDeserialize(ctx, in)
		if err != nil && !answeredNo(err) {
			*u = true
		}
		return out, m, err
	})
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Deserialize.Add(look, middleware.Before)
	})
}

// answeredNo reports whether DynamoDB has answered that it did not write. With a
// status of 500 and more it may have written.
func answeredNo(err error) bool {
	status := fault.Status(err)
	return status >= 400 && status < 500 && status != http.StatusRequestTimeout
}
