package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/dynamo/internal/fault"
	"github.com/lambda-once/once/idempotent/driver"
)

// finish completes or fails a record of the fence's owner or, with c.Owner, a
// record that nobody owns.
func (s *Store) finish(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	r, known := s.finished(f, c)
	t, err := transactionOf(c.With)
	if err != nil {
		return driver.Record{}, false, s.refused("Change", err)
	}
	if t != nil {
		return s.finishWith(ctx, t, f, c, r, known)
	}
	return s.finishAlone(ctx, f, c, r, known)
}

// finishAlone finishes a record by a request of its own. r and known are what
// finished returns.
func (s *Store) finishAlone(ctx context.Context, f driver.Fence, c driver.Change, r driver.Record, known map[string]types.AttributeValue) (driver.Record, bool, error) {
	_, err := s.send(ctx, f.ID, s.finishUpdate(f, c, known[s.format.Attr.Data]))
	if fault.TooLarge(err) && r.Data != nil {
		s.putUnavailable(known, &r)
		_, err = s.send(ctx, f.ID, s.finishUpdate(f, c, known[s.format.Attr.Data]))
	}
	if err != nil {
		return s.lost(ctx, "UpdateItem", f.ID, err)
	}
	return r, true, nil
}

// finished returns the record that a change leaves that finishes it, and what is
// known of its item.
func (s *Store) finished(f driver.Fence, c driver.Change) (driver.Record, map[string]types.AttributeValue) {
	r := changed(f, c)
	r.Status, r.Data, r.Payload, r.Unavailable = c.Status, c.Data, c.Payload, c.Unavailable
	if c.Owner != "" {
		r.Attempt = f.Attempt // as the fence requires
	}
	// For the size of the item.
	known := s.format.Item(r)
	known[s.format.Attr.Validation] = attribute.Text(c.Fingerprint)
	s.putResult(known, &r)
	return r, known
}

// finishWith finishes a record in a transaction.
func (s *Store) finishWith(ctx context.Context, t *Tx, f driver.Fence, c driver.Change, r driver.Record, known map[string]types.AttributeValue) (driver.Record, bool, error) {
	args := arguments{store: s, id: f.ID, fence: f, change: c}
	args.change.With, args.change.Expires = nil, driver.WholeSeconds(c.Expires)
	return s.commit(ctx, t, args, &recordWrite{leaves: r, item: known,
		write: func(known map[string]types.AttributeValue) types.TransactWriteItem {
			return s.transactUpdate(f.ID, s.finishUpdate(f, c, known[s.format.Attr.Data]))
		}})
}

func (s *Store) finishUpdate(f driver.Fence, c driver.Change, data types.AttributeValue) *update {
	u := finishChange(c, data)
	if c.Owner == "" {
		u.fence(f)
		return u
	}
	u.set += andOwner
	u.values[":new_owner"] = attribute.Text(c.Owner)
	u.fenceRead(f)
	return u
}

// finishChange returns the update of a change that finishes a record, without its owner
// and its condition.
func finishChange(c driver.Change, data types.AttributeValue) *update {
	u := newUpdate(setFinish)
	u.values[":status"] = attribute.Text(string(c.Status))
	if data != nil {
		u.set += andData
		u.values[":data"] = data
	}
	u.and(c)
	u.tail = removeFinish
	return u
}
