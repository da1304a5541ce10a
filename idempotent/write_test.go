package idempotent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/protocol"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// The form of a write changes with a record that it meets, and not with an
// error.
func TestRepeatKeepsItsFormOverAnOutage(t *testing.T) {
	x, err := New("op", memory.New(0), nil)
	check.Must(t, err)
	own := driver.Record{Status: driver.InProgress, Owner: "me", Attempt: 2, Lease: time.UnixMilli(2e12)}
	released := driver.Record{Status: driver.InProgress, Attempt: 3, Lease: driver.LeaseEnded}
	lost := fmt.Errorf("the answer was lost: %w", driver.ErrUnavailable)
	replies := []protocol.Reply{{Met: released}, {Err: lost}, {Met: own}, {OK: true}}
	var forms []string
	calls := storeCalls{x: x, tally: &tally{}}
	s := calls.repeat(t.Context(), &write{Policy: &protocol.Finishing, own: own, send: func(_ context.Context, how protocol.Ruling, about driver.Record) protocol.Reply {
		r := replies[len(forms)]
		forms = append(forms, fmt.Sprint(how, about.Attempt))
		return r
	}})
	got, want := strings.Join(forms, "; "), fmt.Sprint(protocol.Again, 0, "; ", protocol.Adopt, 3, "; ", protocol.Adopt, 3, "; ", protocol.Again, 2)
	check.Equal(t, got, want)
	check.Equal(t, s.Ruling, protocol.Done)
	check.True(t, s.unacknowledged)
}

// In a frozen sandbox no timer runs: after the thaw only the wall clock knows
// that the lease has ended.
func TestClaimIsStaleWhenTheWallClockHasPassedItsLease(t *testing.T) {
	x := &Executor{config: (&Config{Lease: time.Minute}).withDefaults()}
	x.times.Lease, x.times.Reserve = time.Minute, time.Second
	c := &call{}
	c.x = x
	for left, stale := range map[time.Duration]bool{-time.Millisecond: true, time.Minute: false} {
		l := &lease{record: driver.Record{Lease: wall(time.Now()).Add(time.Second + left)}}
		h := &heartbeat{ctx: context.Background(), call: c, lease: l, until: l.record.Lease}
		check.Equal(t, errors.Is(h.stale(), ErrTimedOut), stale, left)
	}
}

// The heartbeat may run first after a thaw. It extends the lease, and ends the handler
// whose time was over.
func TestFirstExtensionAfterAThawEndsTheHandler(t *testing.T) {
	store := memory.New(0)
	x, err := New("op", store, &Config{Lease: time.Minute})
	check.Must(t, err)
	now := wall(time.Now())
	frozen := driver.Record{ID: "op#k", Status: driver.InProgress, Owner: "me", Attempt: 1, Lease: now, Expires: now.Add(time.Hour)}
	_, created, err := store.Create(t.Context(), frozen, now, nil)
	check.Must(t, err)
	check.True(t, created)
	c := &call{}
	c.x, c.id = x, frozen.ID
	h := &heartbeat{
		call: c, lease: &lease{record: frozen}, until: now, expires: frozen.Expires,
		limitTimer: time.NewTimer(time.Hour), // late: it did not run in the frozen sandbox
		calls:      storeCalls{x: x, tally: &tally{}},
	}
	h.ctx, h.cancel = context.WithCancelCause(t.Context())
	check.Equal(t, h.extend(t.Context(), time.Second), extended)
	check.Is(t, context.Cause(h.ctx), ErrTimedOut)
}

// The layout of record ids is stored data: changing it loses every record.
func TestRecordIDIsStable(t *testing.T) {
	for _, c := range []struct {
		key  Key
		want string
	}{
		{Key{Scope: "tenant", ID: "8e03978e"}, "create-payment#3d1b2ac5b06c19c71e5bcc920e546b1899e77606a9789a540bba9a3b3d1bb2be"},
		{Key{ID: "8e03978e"}, "create-payment#1d6df0fbe4e0963fbd69faba07b7f942d4d8998237bdc2d8168654a643e30d09"},
		{Key{Record: "charge.handler#9f86"}, "charge.handler#9f86"},
	} {
		got, err := c.key.RecordID("create-payment")
		check.Nil(t, err, c.key)
		check.Equal(t, got, c.want, c.key)
	}
}

func TestRecordIDOfNoKey(t *testing.T) {
	for operation, key := range map[string]Key{
		"":               {ID: "a"},
		"create#payment": {ID: "a"},
		"create-payment": {Scope: "tenant"},
		"charge":         {ID: "a", Record: "b"},
	} {
		_, err := key.RecordID(operation)
		check.Failed(t, err, operation, key)
	}
}
