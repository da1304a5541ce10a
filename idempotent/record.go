package idempotent

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/canonical"
)

// Stored is the record of a key, without its result, its steps and its request.
type Stored struct {
	Status  driver.Status // driver.Absent if there is no record, or if it has expired
	Attempt int64         // 1 for the first
	Began   time.Time     // when the first attempt made its claim
	Lease   time.Time     // the end of the lease, of a record in progress
	Expires time.Time     // the end of the retention, or the zero time for never
	Ended   driver.Ending // how and when the record was finished

	x     *Executor
	shown string
	entry driver.Entry
}

// operable is the part of a [driver.Operable] that is needed here: with the whole, a
// function would link Scan.
type operable interface {
	Inspect(ctx context.Context, id string) (driver.Entry, error)
	Apply(ctx context.Context, e driver.Entry, c driver.Change) (driver.Entry, bool, error)
}

// Record reads the record of a key as it is stored now, and compares no payload: call it
// after an [ErrKeyReused] to learn the key's first use. Under ONCE_DISABLED there
// is none. It returns a [*StoreError] if the store fails, and a [*driver.ConfigError] if
// it is no [driver.Operable].
//
// To get the result, call [Do] with the key without its payload, and a handler that
// returns an error.
func (x *Executor) Record(ctx context.Context, key Key) (*Stored, error) {
	id, err := key.RecordID(x.operation)
	if err != nil {
		return nil, err
	}
	s := &Stored{x: x, shown: id}
	if key.Record != "" {
		s.shown = canonical.SHA256([]byte(id))[:shownDigits]
	}
	if x.disabled {
		return s, nil
	}
	store, able := x.store.(operable)
	if !able {
		var mistakes driver.Mistakes
		mistakes.Add("idempotent: Record: a %T is no driver.Operable", x.store)
		return nil, mistakes.Err()
	}
	if s.entry, err = store.Inspect(ctx, id); err != nil {
		return nil, &StoreError{Op: "read", Err: err}
	}
	if r := s.entry.Record; !r.Expired(s.cutoff()) {
		s.Status, s.Attempt, s.Began, s.Expires, s.Ended = r.Status, r.Attempt, r.Began, r.Expires, r.Ended
		if r.Status == driver.InProgress {
			s.Lease = r.Lease
		}
	}
	return s, nil
}

// cutoff is by the clock of the store's server.
func (s *Stored) cutoff() time.Time { return s.entry.At.Add(-s.x.config.ClockSkew) }

// Left returns how long the record kept other calls from running when it was read: until
// the end of its lease or, if it is finished, of its retention. It is 0 if the next call
// runs, and the longest time if the record has no such end. A heartbeat extends a lease.
func (s *Stored) Left() time.Duration {
	end := s.Expires
	if s.Status == driver.InProgress {
		end = s.Lease
	}
	switch {
	case s.Status == driver.Absent:
		return 0
	case end.IsZero():
		return math.MaxInt64
	}
	return max(end.Sub(s.entry.At), 0)
}

// Evict deletes the record if it is still as it was read, so that the next call runs as
// the first one, whatever the payload: its effects happen again, and so do those of
// finished steps. If there is no record, Evict does nothing.
//
// It returns an [*InProgressError] for a record whose lease is live, has no end, or
// belongs to a durable execution, which may be paused: two calls would run. It returns a
// [*RecordChangedError] if the record was written since, and a [*StoreError] if the store
// fails. A process with a cache (Config.CacheEntries) replays a finished result until its
// retention ends: other processes, and this one if a call had read the record already.
func (s *Stored) Evict(ctx context.Context) error {
	if s.Status == driver.InProgress && (s.Lease.IsZero() || !s.entry.Lapsed(s.cutoff()) || strings.HasPrefix(s.entry.Owner, "execution-")) {
		return &InProgressError{RecordID: s.shown, Until: s.Lease}
	}
	return s.ForceEvict(ctx)
}

// ForceEvict is Evict over a live owner, too. Use it if you know that the owner does not
// run: if it does, its result is lost, and both its effects and those of the next call
// happen.
func (s *Stored) ForceEvict(ctx context.Context) error {
	if s.Status == driver.Absent {
		return nil
	}
	now, ok, err := s.x.store.(operable).Apply(ctx, s.entry, driver.Change{Release: driver.ReleaseDelete})
	switch {
	case err != nil:
		return &StoreError{Op: "evict", Err: err}
	case !ok && now.Status != driver.Absent: // an earlier Evict, whose answer was lost, leaves none
		return &RecordChangedError{RecordID: s.shown}
	}
	s.x.cache.Remove(s.entry.ID)
	return nil
}

// A RecordChangedError reports that a record was written after it was read. It was not
// evicted: read it again, and decide anew.
type RecordChangedError struct{ RecordID string }

func (e *RecordChangedError) Error() string {
	return fmt.Sprintf("idempotent: the record of key %s has changed since it was read, and was not evicted; read it again", e.RecordID)
}

// SafeText returns the whole text.
func (e *RecordChangedError) SafeText() string { return e.Error() }

// Is reports whether target is [ErrRecordChanged].
func (e *RecordChangedError) Is(target error) bool { return target == ErrRecordChanged }
