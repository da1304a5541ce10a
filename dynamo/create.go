package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/fault"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/attribute"
)

// Create writes r where no record is, or one that is over at the time over;
// with the zero over, only where no record is. A finished record is written
// without lease and steps, and one whose result does not fit into an item
// with Unavailable instead, as the answer says.
//
// with may be a sealed [*Tx], with a finished record. A failed condition of
// its own is an [*driver.Rejected].
func (s *Store) Create(ctx context.Context, r driver.Record, over time.Time, with any) (driver.Record, bool, error) {
	if err := s.checkCreate(r, with); err != nil {
		return driver.Record{}, false, s.refused("Create", err)
	}
	r.Lease, r.Expires = wholeMillis(r.Lease), wholeSeconds(r.Expires)
	if r.Status != driver.InProgress {
		r.Lease = time.Time{}
	}
	t, err := transactionOf(with)
	if err != nil {
		return driver.Record{}, false, s.refused("Create", err)
	}
	item := s.format.Item(r)
	s.putResult(item, &r)
	if t != nil {
		return s.createWith(ctx, t, r, item, over)
	}
	_, err = s.put(ctx, item, over)
	if fault.TooLarge(err) && r.Data != nil {
		s.putUnavailable(item, &r)
		_, err = s.put(ctx, item, over)
	}
	if err == nil {
		return r, true, nil
	}
	met, ok, err := s.lost(ctx, "PutItem", r.ID, err)
	if err == nil && met.Status == driver.Absent {
		// This condition never fails where no record is: the answer came
		// without the item (some emulators), or it is gone since.
		met, err = s.Get(ctx, r.ID)
	}
	return met, ok, err
}

// createWith creates a record in a transaction.
func (s *Store) createWith(ctx context.Context, t *Tx, r driver.Record, item map[string]types.AttributeValue, over time.Time) (driver.Record, bool, error) {
	asked := arguments{store: s, id: r.ID, record: r, over: wholeMillis(over)}
	return s.commit(ctx, t, asked, &recordWrite{leaves: r, item: item,
		write: func(item map[string]types.AttributeValue) types.TransactWriteItem { return s.transactPut(item, over) }})
}

func (s *Store) put(ctx context.Context, item map[string]types.AttributeValue, over time.Time) (*dynamodb.PutItemOutput, error) {
	p := s.transactPut(item, over).Put
	return s.client.PutItem(ctx, &dynamodb.PutItemInput{
		ConditionExpression:                 p.ConditionExpression,
		ExpressionAttributeNames:            p.ExpressionAttributeNames,
		ExpressionAttributeValues:           p.ExpressionAttributeValues,
		Item:                                p.Item,
		ReturnValuesOnConditionCheckFailure: p.ReturnValuesOnConditionCheckFailure,
		TableName:                           p.TableName,
	}, quiet)
}

func (s *Store) transactPut(item map[string]types.AttributeValue, over time.Time) types.TransactWriteItem {
	condition, values := condAbsent, map[string]types.AttributeValue(nil)
	if !over.IsZero() {
		condition = condAbsentOrOver
		values = map[string]types.AttributeValue{
			":inprogress": attribute.Text(string(driver.InProgress)),
			":over_ms":    attribute.Millis(over),
			":over_s":     attribute.Seconds(over),
		}
	}
	return types.TransactWriteItem{Put: &types.Put{
		ConditionExpression:                 &condition,
		ExpressionAttributeNames:            s.format.Names(nil, condition),
		ExpressionAttributeValues:           values,
		Item:                                item,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		TableName:                           &s.table,
	}}
}
