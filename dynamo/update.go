package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/dynamo/internal/recorditem"
	"github.com/lambda-once/once/idempotent/driver"
)

// update builds an UpdateItem or, without set, a DeleteItem.
type update struct {
	id        string
	set       string // the SET clause
	tail      string // the clauses after it
	condition string
	names     map[string]string // beyond the store's placeholders
	values    map[string]types.AttributeValue
	all       bool // return the whole item

	leaves driver.Record                   // if it succeeds
	known  map[string]types.AttributeValue // of the item of a record that it finishes
}

func newUpdate(id, set string) *update {
	return &update{id: id, set: set, values: make(map[string]types.AttributeValue, 8)}
}

func (u *update) op() string {
	if u.set == "" {
		return "DeleteItem"
	}
	return "UpdateItem"
}

// and adds the fields that may come with every kind of update.
func (u *update) and(c driver.Change) {
	if !c.Expires.IsZero() {
		u.set += andExpires
		u.values[":exp"] = attribute.Seconds(c.Expires)
	}
	if c.Fingerprint != "" {
		u.set += andFingerprint
		u.values[":validation"] = attribute.Text(c.Fingerprint)
	}
}

func (u *update) adopt(owner string) {
	u.set += andOwner
	u.values[":new_owner"] = attribute.Text(owner)
}

// fence sets the condition of an owner's own writes. They must not depend on
// whether its last heartbeat arrived.
func (u *update) fence(f driver.Fence) {
	u.values[":inprogress"] = recorditem.Status(driver.InProgress)
	if f.Owner == "" {
		u.condition = condOwnless
		return
	}
	u.condition = condOwned
	u.values[":owner"] = attribute.Text(f.Owner)
}

// fenceRead sets the condition for a new owner: the record is as read.
func (u *update) fenceRead(f driver.Fence) {
	u.fence(f)
	switch {
	case f.Lease.IsZero():
		u.condition += condNoLease
	case f.Owner == "" && f.Attempt == 0: // of Powertools
		u.condition += condForeignLease
		u.values[":before_lease"] = attribute.Number(f.Lease.UnixMilli() - 1)
		u.values[":read_lease"] = attribute.Millis(f.Lease)
	default:
		u.condition += condLease
		u.values[":read_lease"] = attribute.Millis(f.Lease)
	}
	if f.Attempt == 0 {
		u.condition += condNoAttempt
	} else {
		u.condition += condAttempt
		u.values[":read_attempt"] = attribute.Number(f.Attempt)
	}
}

// transactUpdate returns an update as part of a transaction.
func (s *Store) transactUpdate(u *update) types.TransactWriteItem {
	expression := u.set + u.tail
	return types.TransactWriteItem{Update: &types.Update{
		ConditionExpression:                 &u.condition,
		ExpressionAttributeNames:            s.format.Names(u.names, expression, u.condition),
		ExpressionAttributeValues:           u.values,
		Key:                                 s.format.Key(u.id),
		ReturnValuesOnConditionCheckFailure: allOld,
		TableName:                           &s.table,
		UpdateExpression:                    &expression,
	}}
}

// send sends an update or a deletion. The output of a deletion has only metadata.
func (s *Store) send(ctx context.Context, u *update, options ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	expression := u.set + u.tail
	names, key := s.format.Names(u.names, expression, u.condition), s.format.Key(u.id)
	options = append(options, inTime(ctx))
	if u.set == "" {
		out, err := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			ConditionExpression:                 &u.condition,
			ExpressionAttributeNames:            names,
			ExpressionAttributeValues:           u.values,
			Key:                                 key,
			ReturnValuesOnConditionCheckFailure: allOld,
			TableName:                           &s.table,
		}, options...)
		if err != nil {
			return nil, err
		}
		return &dynamodb.UpdateItemOutput{ResultMetadata: out.ResultMetadata}, nil
	}
	returned := types.ReturnValueNone
	if u.all {
		returned = types.ReturnValueAllNew
	}
	return s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		ConditionExpression:                 &u.condition,
		ExpressionAttributeNames:            names,
		ExpressionAttributeValues:           u.values,
		Key:                                 key,
		ReturnValues:                        returned,
		ReturnValuesOnConditionCheckFailure: allOld,
		TableName:                           &s.table,
		UpdateExpression:                    &expression,
	}, options...)
}
