package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/idempotent/driver"
)

// Change makes one fenced write, as [driver.Store] requires. It writes
// Unavailable in place of a result that does not fit into an item, and returns
// the record so. It returns an [*Error] for combinations of fields that the
// protocol does not use.
//
// c.With may be a frozen [*Tx] if c finishes the record. If a condition of the Tx
// fails, Change returns a [*driver.Rejected].
func (s *Store) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	if err := s.checkChange(f, c); err != nil {
		return driver.Record{}, false, s.refused("Change", err)
	}
	if s.group == nil {
		return s.change(ctx, f, c)
	}
	st := s.statementOf(f, c)
	return s.group.do(ctx, st, func() (driver.Record, bool, error) {
		if st != nil && st.known != nil {
			return s.finishAlone(ctx, f, c, st.leaves, st.known) // its result is encoded
		}
		return s.change(ctx, f, c)
	})
}

// change makes a write by a request of its own.
func (s *Store) change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	switch {
	case c.Release == driver.ReleaseDelete:
		return s.delete(ctx, f)
	case c.Release != 0:
		return s.keep(ctx, f, c)
	case c.Status != "":
		return s.finish(ctx, f, c)
	case len(c.Steps) > 0:
		return s.step(ctx, f, c)
	case c.Owner != "":
		return s.takeOver(ctx, f, c)
	default:
		return s.extend(ctx, f, c)
	}
}

// takeOver returns the whole record, as it contains steps of earlier owners.
func (s *Store) takeOver(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	u := newUpdate(setTakeOver)
	u.values[":new_owner"] = attribute.Text(c.Owner)
	u.values[":one"] = attribute.Number(1)
	u.values[":empty"] = &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}}
	u.values[":lease"] = attribute.Millis(c.Lease)
	u.and(c)
	u.fenceRead(f)
	u.all = true
	out, err := s.send(ctx, f.ID, u)
	if err != nil {
		return s.lost(ctx, "UpdateItem", f.ID, err)
	}
	r, err := s.read("UpdateItem", out.Attributes)
	return r, err == nil, err
}

func (s *Store) extend(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	u := newUpdate(setExtend)
	u.values[":lease"] = attribute.Millis(c.Lease)
	u.and(c)
	u.fence(f)
	u.condition += condForward
	if _, err := s.send(ctx, f.ID, u); err != nil {
		return s.lost(ctx, "UpdateItem", f.ID, err)
	}
	return extended(f, c), true, nil
}

func extended(f driver.Fence, c driver.Change) driver.Record {
	r := changed(f, c)
	r.Lease = driver.WholeMillis(c.Lease)
	return r
}

// keep ends the lease, and counts a refund if c asks for one. The refund is a
// count of its own: with a lower attempt, two runs would share a number.
func (s *Store) keep(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	u := keepUpdate(c)
	u.fence(f)
	if _, err := s.send(ctx, f.ID, u); err != nil {
		return s.lost(ctx, "UpdateItem", f.ID, err)
	}
	return kept(f, c), true, nil
}

func keepUpdate(c driver.Change) *update {
	u := newUpdate(setKeep)
	u.values[":zero"] = attribute.Number(0)
	u.tail = removeKeep
	if c.Release == driver.ReleaseRefund {
		u.tail += addRefund
		u.values[":one"] = attribute.Number(1)
	}
	return u
}

func kept(f driver.Fence, c driver.Change) driver.Record {
	r := changed(f, c)
	r.Owner, r.Lease = "", driver.LeaseEnded
	return r
}

func (s *Store) delete(ctx context.Context, f driver.Fence) (driver.Record, bool, error) {
	u := newUpdate("")
	u.values[":zero"] = attribute.Number(0)
	u.fence(f)
	u.condition += condNoSteps
	if err := s.deleteIf(ctx, f.ID, u); err != nil {
		return s.lost(ctx, "DeleteItem", f.ID, err)
	}
	return driver.Record{}, true, nil
}

// deleteIf deletes an item under the condition of u.
func (s *Store) deleteIf(ctx context.Context, id string, u *update, options ...func(*dynamodb.Options)) error {
	_, err := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		ConditionExpression:                 &u.condition,
		ExpressionAttributeNames:            s.format.Names(nil, u.condition),
		ExpressionAttributeValues:           u.values,
		Key:                                 s.format.Key(id),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		TableName:                           &s.table,
	}, append(options, inTime(ctx))...)
	return err
}

// changed returns the record that a successful change by the owner leaves, as far
// as it is known without a read. A larger response would be billed and not used.
func changed(f driver.Fence, c driver.Change) driver.Record {
	r := driver.Record{ID: f.ID, Status: driver.InProgress, Owner: f.Owner, Expires: driver.WholeSeconds(c.Expires)}
	if c.Owner != "" {
		r.Owner = c.Owner
	}
	return r
}
