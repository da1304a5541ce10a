package dynamo

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/dynamo/internal/fault"
	"github.com/lambda-once/once/idempotent/driver"
)

// step adds finished steps, each by its own path: a write of the whole map would
// lose a step that finishes at the same time.
func (s *Store) step(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	if attribute.Size(s.format.Steps(c.Steps)) > attribute.MaxItemSize {
		return driver.Record{}, false, s.fail("UpdateItem", errItemSize)
	}
	_, err := s.send(ctx, f.ID, s.stepUpdate(f, c))
	if fault.NoMap(err) {
		// A record of another library, which has no map to add to.
		var made bool
		if made, err = s.makeMap(ctx, f, c); err == nil && !made {
			// It contains one now, or the fence does not hold.
			_, err = s.send(ctx, f.ID, s.stepUpdate(f, c))
		}
	}
	if err != nil {
		return s.lost(ctx, "UpdateItem", f.ID, err)
	}
	return stepped(f, c), true, nil
}

func stepped(f driver.Fence, c driver.Change) driver.Record {
	r := changed(f, c)
	r.Steps = c.Steps
	return r
}

func (s *Store) stepUpdate(f driver.Fence, c driver.Change) *update {
	u := newUpdate("SET ")
	u.names = make(map[string]string, len(c.Steps))
	for i, name := range slices.Sorted(maps.Keys(c.Steps)) {
		n := strconv.Itoa(i)
		if i > 0 {
			u.set += ", "
		}
		// The name is the user's, so that it is a placeholder as well: with
		// a dot in it, it would be a longer path.
		u.set += "#steps.#s" + n + " = :s" + n
		u.names["#s"+n] = name
		u.values[":s"+n] = s.format.Step(c.Steps[name])
	}
	u.and(c)
	u.fence(f)
	return u
}

// makeMap writes the steps to a record without a map, and reports false where
// the condition fails.
func (s *Store) makeMap(ctx context.Context, f driver.Fence, c driver.Change) (bool, error) {
	u := newUpdate(setStepMap)
	u.values[":steps"] = s.format.Steps(c.Steps)
	u.and(c)
	u.fence(f)
	u.condition += condNoMap
	_, err := s.send(ctx, f.ID, u)
	if fault.ConditionFailed(err) {
		return false, nil
	}
	return err == nil, err
}
