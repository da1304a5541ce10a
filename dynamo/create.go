package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/dynamo/internal/fault"
	"github.com/lambda-once/once/dynamo/internal/recorditem"
	"github.com/lambda-once/once/idempotent/driver"
)

// Create writes r where there is no record or an expired one, as [driver.Store] requires. A
// finished record is written without lease and steps. Create writes Unavailable in place of a
// result that does not fit into an item, and returns the record so. A request that does
// not fit is an error that wraps [driver.ErrTooLarge], and nothing is written.
//
// with may be the frozen [Tx] of a call if r is finished. If a condition of the Tx fails,
// Create returns a [*driver.Rejected].
func (s *Store) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	t, err := s.checkCreate(r, with)
	if err != nil {
		return driver.Record{}, false, s.refused("Create", err)
	}
	r.Lease, r.Expires = driver.WholeMillis(r.Lease), driver.WholeSeconds(r.Expires)
	if r.Status != driver.InProgress {
		r.Lease = time.Time{}
	}
	item := s.format.Item(r)
	s.putResult(item, &r)
	if r.Request != nil {
		if err := checkRequest(item); err != nil {
			return driver.Record{}, false, s.refused("Create", err)
		}
	}
	switch {
	case t != nil:
		s.group.arrive(ctx)
		args := arguments{store: s, id: r.ID, record: r, cutoff: driver.WholeMillis(cutoff)}
		return s.commit(ctx, t, args, &recordWrite{leaves: r, item: item,
			write: func(item map[string]types.AttributeValue) types.TransactWriteItem { return s.transactPut(item, cutoff) }})
	case s.group == nil:
		return s.create(ctx, r, item, cutoff)
	}
	return s.group.do(ctx, s.insert(r, item, cutoff), func() (driver.Record, bool, error) { return s.create(ctx, r, item, cutoff) })
}

// create creates a record by a request of its own.
func (s *Store) create(ctx context.Context, r driver.Record, item map[string]types.AttributeValue, cutoff time.Time) (driver.Record, bool, error) {
	p := s.transactPut(item, cutoff).Put
	in := &dynamodb.PutItemInput{
		ConditionExpression:                 p.ConditionExpression,
		ExpressionAttributeNames:            p.ExpressionAttributeNames,
		ExpressionAttributeValues:           p.ExpressionAttributeValues,
		Item:                                p.Item,
		ReturnValuesOnConditionCheckFailure: p.ReturnValuesOnConditionCheckFailure,
		TableName:                           p.TableName,
	}
	_, err := s.client.PutItem(ctx, in, inTime(ctx))
	if r.Data != nil && fault.TooLarge(err) {
		s.putUnavailable(item, &r)
		_, err = s.client.PutItem(ctx, in, inTime(ctx))
	}
	if err == nil {
		return r, true, nil
	}
	met, ok, err := s.lost(ctx, "PutItem", r.ID, err)
	if err == nil && met.Status == driver.Absent {
		// This condition does not fail without a record: the response lacks the
		// item (as of some emulators), or the record is deleted since.
		met, err = s.get(ctx, r.ID)
	}
	return met, ok, err
}

func (s *Store) transactPut(item map[string]types.AttributeValue, cutoff time.Time) types.TransactWriteItem {
	condition, values := condAbsent, map[string]types.AttributeValue(nil)
	if !cutoff.IsZero() {
		condition = condAbsentOrOver
		values = map[string]types.AttributeValue{
			":inprogress": recorditem.Status(driver.InProgress),
			":over_ms":    attribute.Millis(cutoff),
			":over_s":     attribute.Seconds(cutoff),
		}
	}
	return types.TransactWriteItem{Put: &types.Put{
		ConditionExpression:                 &condition,
		ExpressionAttributeNames:            s.format.Names(nil, condition),
		ExpressionAttributeValues:           values,
		Item:                                item,
		ReturnValuesOnConditionCheckFailure: allOld,
		TableName:                           &s.table,
	}}
}
