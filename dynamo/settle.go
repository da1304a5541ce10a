package dynamo

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/idempotent/driver"
)

// settled are the attributes that a settlement compares, and what stands for the one
// that was read.
var settled = []string{"#status", "#owner", "#attempt", "#refunds", "#lease", "#exp", "#validation", "#data", "#steps"}

// Settle applies the change of an operator to a record that is stored exactly as e: see
// [driver.Operable]. It needs dynamodb:UpdateItem, and dynamodb:DeleteItem for a deletion.
// A result that does not fit into the item is an error.
func (s *Store) Settle(ctx context.Context, e driver.Entry, c driver.Change) (driver.Entry, bool, error) {
	err := e.Validate(c)
	item, ok := e.Stored.(map[string]types.AttributeValue)
	if err == nil && !ok {
		err = driver.ErrForeignEntry
	}
	if err != nil {
		return driver.Entry{}, false, s.refused("Settle", err)
	}
	u := s.settlement(c)
	s.asStored(u, item)
	var sent unacknowledged
	var after map[string]types.AttributeValue
	var m middleware.Metadata
	op := "UpdateItem"
	if c.Release == driver.ReleaseDelete {
		op = "DeleteItem"
		err = s.deleteIf(ctx, e.ID, u, sent.watch)
	} else {
		var out *dynamodb.UpdateItemOutput
		if out, err = s.send(ctx, e.ID, u, sent.watch); err == nil {
			after, m = out.Attributes, out.ResultMetadata
		}
	}
	if err == nil {
		return s.entry(after, m), true, nil
	}
	return s.unsettled(ctx, op, e.ID, err, bool(sent))
}

// settlement returns the update of a change, without a condition.
func (s *Store) settlement(c driver.Change) *update {
	switch {
	case c.Release == driver.ReleaseDelete:
		return newUpdate("")
	case c.Release != 0:
		u := keepUpdate(c)
		u.all = true
		return u
	}
	u := finishChange(c, s.format.Result(c.Data))
	u.set += andOwner
	u.values[":new_owner"] = attribute.Text(c.Owner)
	u.all = true
	return u
}

// asStored sets the condition that nothing has changed. Owner and lease alone are not
// enough: Powertools writes no owner, and a lease only if it knows one.
func (s *Store) asStored(u *update, item map[string]types.AttributeValue) {
	names := s.format.Names(nil, settled...)
	all := make([]string, len(settled))
	for i, placeholder := range settled {
		if v, ok := item[names[placeholder]]; ok {
			value := ":stored_" + placeholder[1:]
			all[i], u.values[value] = placeholder+" = "+value, v
		} else {
			all[i] = "attribute_not_exists(" + placeholder + ")"
		}
	}
	u.condition = strings.Join(all, " AND ")
}

// unsettled returns the result of a settlement that failed. An earlier try of the SDK
// may have been applied if one was not answered.
func (s *Store) unsettled(ctx context.Context, op, id string, err error, unacknowledged bool) (driver.Entry, bool, error) {
	failed := s.fail(op, err).(*Error)
	failed.notWritten = !unacknowledged
	var condition *types.ConditionalCheckFailedException
	var inTransaction *types.TransactionConflictException
	var inOtherRegion *types.ReplicatedWriteConflictException
	var met driver.Entry
	switch {
	case errors.As(err, &condition):
		met = s.entry(condition.Item, middleware.Metadata{})
	case errors.As(err, &inTransaction), errors.As(err, &inOtherRegion):
		e, err := s.Inspect(ctx, id)
		if err != nil {
			return driver.Entry{}, false, failed
		}
		met = e
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
	var r *smithyhttp.ResponseError
	if !errors.As(err, &r) {
		return false
	}
	code := r.HTTPStatusCode()
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout
}
