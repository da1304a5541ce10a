package dynamo

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/dynamo/internal/fault"
	"github.com/lambda-once/once/dynamo/internal/recorditem"
	"github.com/lambda-once/once/idempotent/driver"
)

// Change makes one fenced write, as [driver.Store] requires. It writes
// Unavailable in place of a result that does not fit into an item, and returns
// the record so. It returns an [*Error] for combinations of fields that the
// protocol does not use.
//
// c.With may be the frozen [Tx] of a call if c finishes the record. If a condition of the Tx
// fails, Change returns a [*driver.Rejected].
func (s *Store) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	t, err := s.checkChange(f, c)
	if err != nil {
		return driver.Record{}, false, s.refused("Change", err)
	}
	if t != nil {
		s.group.arrive(ctx)
		return s.finishWith(ctx, t, f, c)
	}
	u := s.updateOf(f, c)
	if s.group == nil {
		return s.change(ctx, f, c, u)
	}
	return s.group.do(ctx, s.statementOf(c, u), func() (driver.Record, bool, error) { return s.change(ctx, f, c, u) })
}

// change makes a write by a request of its own.
func (s *Store) change(ctx context.Context, f driver.Fence, c driver.Change, u *update) (driver.Record, bool, error) {
	if len(c.Steps) > 0 && attribute.Size(s.format.Steps(c.Steps)) > attribute.MaxItemSize {
		return driver.Record{}, false, s.fail(u.op(), errItemSize)
	}
	out, err := s.send(ctx, u)
	switch {
	case err == nil && u.all:
		r, err := s.read(u.op(), out.Attributes)
		return r, err == nil, err
	case err == nil:
		return u.leaves, true, nil
	case u.leaves.Data != nil && fault.TooLarge(err):
		s.putUnavailable(u.known, &u.leaves)
		u.values[":data"] = u.known[s.format.Attr.Data]
		_, err = s.send(ctx, u)
	case len(c.Steps) > 0 && fault.NoMap(err):
		err = s.makeMap(ctx, f, c, u)
	}
	if err != nil {
		return s.lost(ctx, u.op(), f.ID, err)
	}
	return u.leaves, true, nil
}

// makeMap adds steps to a record of Powertools, which lacks the map that u adds to.
func (s *Store) makeMap(ctx context.Context, f driver.Fence, c driver.Change, u *update) error {
	whole := newUpdate(f.ID, setStepMap)
	whole.values[":steps"] = s.format.Steps(c.Steps)
	whole.and(c)
	whole.fence(f)
	whole.condition += condNoMap
	_, err := s.send(ctx, whole)
	if fault.ConditionFailed(err) != nil {
		// It contains a map now, or the fence does not hold.
		_, err = s.send(ctx, u)
	}
	return err
}

// finishWith finishes a record in a transaction.
func (s *Store) finishWith(ctx context.Context, t *Tx, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	r, known := s.finished(f, c)
	args := arguments{store: s, id: f.ID, fence: f, change: c}
	args.change.With, args.change.Expires = nil, driver.WholeSeconds(c.Expires)
	return s.commit(ctx, t, args, &recordWrite{leaves: r, item: known,
		write: func(known map[string]types.AttributeValue) types.TransactWriteItem {
			return s.transactUpdate(s.finishUpdate(f, c, known))
		}})
}

// updateOf returns the update that makes a change. A request of its own and a
// shared request send the same one.
func (s *Store) updateOf(f driver.Fence, c driver.Change) *update {
	var u *update
	switch {
	case c.Release == driver.ReleaseDelete:
		u = newUpdate(f.ID, "")
		u.values[":zero"] = attribute.Number(0)
		u.fence(f)
		u.condition += condNoSteps
		return u // leaves nothing
	case c.Release != 0:
		u = keepUpdate(f.ID, c, "")
		u.fence(f)
	case c.Status != driver.Absent:
		r, known := s.finished(f, c)
		u = s.finishUpdate(f, c, known)
		u.leaves, u.known = r, known
		return u
	case len(c.Steps) > 0:
		u = s.stepUpdate(f, c)
	case c.Owner != "":
		u = takeOverUpdate(f, c)
	default:
		u = newUpdate(f.ID, setExtend)
		u.values[":lease"] = attribute.Millis(c.Lease)
		u.and(c)
		u.fence(f)
		u.condition += condForward
	}
	u.leaves = left(f, c)
	return u
}

// takeOverUpdate returns the whole record, as it contains steps of earlier owners.
func takeOverUpdate(f driver.Fence, c driver.Change) *update {
	u := newUpdate(f.ID, setTakeOver)
	u.values[":new_owner"] = attribute.Text(c.Owner)
	u.values[":one"] = attribute.Number(1)
	u.values[":empty"] = &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}}
	u.values[":lease"] = attribute.Millis(c.Lease)
	if !c.Began.IsZero() {
		u.set += andBegan
		u.values[":began"] = attribute.Millis(c.Began)
	}
	u.and(c)
	u.fenceRead(f)
	u.all = true
	return u
}

// keepUpdate ends the lease, and counts a refund if c asks for one. The refund is a
// count of its own: with a lower attempt, two runs would share a number. It also removes
// the attributes of remove, and has no condition.
func keepUpdate(id string, c driver.Change, remove string) *update {
	u := newUpdate(id, setKeep)
	u.values[":zero"] = attribute.Number(0)
	u.tail = removeKeep + remove
	if c.Release == driver.ReleaseRefund {
		u.tail += addRefund
		u.values[":one"] = attribute.Number(1)
	}
	return u
}

// stepUpdate adds finished steps, each by its own path: a write of the whole map
// would lose a step that finishes at the same time.
func (s *Store) stepUpdate(f driver.Fence, c driver.Change) *update {
	u := newUpdate(f.ID, "SET ")
	u.names = make(map[string]string, len(c.Steps))
	for i, name := range slices.Sorted(maps.Keys(c.Steps)) {
		n := strconv.Itoa(i)
		if i > 0 {
			u.set += ", "
		}
		// The name is the user's, so it is a placeholder as well: with a dot in it, it
		// would be a longer path.
		u.set += "#steps.#s" + n + " = :s" + n
		u.names["#s"+n] = name
		u.values[":s"+n] = s.format.Step(c.Steps[name])
	}
	u.and(c)
	u.fence(f)
	return u
}

// finishUpdate completes or fails a record of the fence's owner or, with c.Owner, a
// record without an owner.
func (s *Store) finishUpdate(f driver.Fence, c driver.Change, item map[string]types.AttributeValue) *update {
	u := s.finishChange(f.ID, c, item)
	if c.Owner == "" {
		u.fence(f)
		return u
	}
	u.adopt(c.Owner)
	u.fenceRead(f)
	return u
}

// finishChange returns the update of a change that finishes a record, without its
// owner and its condition. Result and ending are those of item.
func (s *Store) finishChange(id string, c driver.Change, item map[string]types.AttributeValue) *update {
	u := newUpdate(id, setFinish)
	u.values[":status"] = recorditem.Status(c.Status)
	if data := item[s.format.Attr.Data]; data != nil {
		u.set = setFinish + andData
		u.values[":data"] = data
	}
	if ended := item[s.format.Attr.Ended]; ended != nil {
		u.set += andEnded
		u.values[":ended"] = ended
	}
	u.and(c)
	u.tail = removeFinish
	return u
}
