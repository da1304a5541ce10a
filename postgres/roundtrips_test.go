package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func TestRoundTrips(t *testing.T) {
	w := newNetwork(t)
	store := newStore(t, newPool(t, w.prepared, one), nil)
	plain, cached := executor(t, store, nil), executor(t, store, &idempotent.Config{CacheEntries: 10})
	reads := executor(t, store, &idempotent.Config{ReadFirst: true})

	run := func(x *idempotent.Executor, id string, end error) (trips, runs int, err error) {
		trips = w.count(func() {
			_, err = idempotent.Do(t.Context(), x, idempotent.Key{Record: id, Payload: "p"}, func(context.Context) (string, error) {
				runs++
				return "result", end
			})
		})
		return trips, runs, err
	}
	lapsed := func(id string, lease time.Time) {
		t.Helper()
		r := claim(id, "other")
		r.Lease, r.Expires, r.Fingerprint = lease, time.Now().Add(time.Hour), ""
		create(t, store, r)
	}
	lapsed("running", time.Now().Add(time.Minute))
	for _, id := range []string{"warm lapsed", "lapsed", "lapsed, too"} {
		lapsed(id, time.Now().Add(-time.Minute))
	}
	for _, id := range []string{"warm expired", "expired"} {
		create(t, store, expired(id, 200*365*24*time.Hour))
	}
	errBusy, errDeclined := errors.New("busy"), errors.New("declined")
	// The first use of a text on a connection prepares it, in a round trip more.
	for _, c := range []struct {
		x   *idempotent.Executor
		id  string
		end error
	}{{plain, "warm", errBusy}, {plain, "warm", nil}, {plain, "warm lapsed", nil}, {plain, "warm expired", nil}, {reads, "warm", nil}} {
		if _, _, err := run(c.x, c.id, c.end); !errors.Is(err, c.end) {
			t.Fatal(err)
		}
	}

	for _, c := range []struct {
		name  string
		x     *idempotent.Executor
		id    string
		end   error
		trips int
		runs  int
		err   error
	}{
		{"first call", plain, "a", nil, 2, 1, nil},
		{"duplicate of a finished one", plain, "a", nil, 1, 0, nil},
		{"duplicate that fills the cache", cached, "a", nil, 1, 0, nil},
		{"from the cache", cached, "a", nil, 0, 0, nil},
		{"duplicate of a running one", plain, "running", nil, 1, 0, idempotent.ErrInProgress},
		{"released error", plain, "c", errBusy, 2, 1, errBusy},
		{"retry after a released error", plain, "c", nil, 2, 1, nil},
		{"permanent error", plain, "d", idempotent.Permanent(errDeclined), 2, 1, errDeclined},
		{"replay of a permanent error", plain, "d", nil, 1, 0, idempotent.ErrReplayed},
		{"takeover", plain, "lapsed", nil, 3, 1, nil},
		{"first call after the retention", plain, "expired", nil, 3, 1, nil},
		{"first call that reads first", reads, "e", nil, 3, 1, nil},
		{"duplicate that reads first", reads, "e", nil, 1, 0, nil},
		{"takeover that reads first", reads, "lapsed, too", nil, 3, 1, nil},
	} {
		trips, runs, err := run(c.x, c.id, c.end)
		if trips != c.trips || runs != c.runs || !errors.Is(err, c.err) {
			t.Errorf("%s: %d round trips, %d runs, %v; want %d, %d, %v", c.name, trips, runs, err, c.trips, c.runs, c.err)
		}
	}
}

// Statements with other arguments have the same text, so that a connection
// prepares each kind of write once.
func TestTextsOfStatementsDoNotDependOnTheirArguments(t *testing.T) {
	l := layoutOf(t)
	never := claim("b", "")
	never.Expires, never.Lease = time.Time{}, time.Time{}
	for name, pair := range map[string][2]statement{
		"claim":  {l.insert(claim("a", owner)), l.insert(never)},
		"create": {l.create(claim("a", owner), now), l.create(never, time.Time{})},
		"finish": {l.change(fence(claim("a", owner)), complete("1")), l.change(driver.Fence{ID: "b", Owner: rival},
			driver.Change{Status: driver.Failed, Unavailable: "u", Expires: now})},
		"take over": {l.change(fence(claim("a", owner)), takeover(rival)), l.change(driver.Fence{ID: "b"}, takeover("c"))},
		"step": {l.change(fence(claim("a", owner)), driver.Change{Steps: map[string][]byte{"a": nil}}),
			l.change(fence(claim("a", owner)), driver.Change{Steps: map[string][]byte{"b": nil, "c": []byte("1")}})},
	} {
		if pair[0].sql != pair[1].sql || pair[0].args[0] != "a" || pair[1].args[0] == pair[0].args[0] && name != "step" {
			t.Errorf("%s:\n%v\n%v", name, pair[0], pair[1])
		}
	}
}

// A connection that falls silent before the ROLLBACK, as behind a gateway that drops its
// state, leaves the time to read the record on a new one.
func TestSilentConnectionAfterALostRaceLeavesTimeToRead(t *testing.T) {
	wire := newNetwork(t)
	pool := newPool(t, wire.through)
	s := newStore(t, pool, nil)
	newEffects(t, pool)
	first := driver.Record{ID: "a", Status: driver.Completed, Owner: "one", Attempt: 1, Data: []byte(`"paid"`), Expires: time.Now().Add(time.Hour)}
	_, ok, err := s.Create(t.Context(), first, time.Now(), nil)
	check.Must(t, err)
	check.Equal(t, ok, true)
	tx := new(Tx)
	tx.Exec(add, "a", 1)
	_, err = (*collected)(tx).Freeze()
	check.Must(t, err)
	wire.losingOf("silent", "rollback\x00")
	second := first
	second.Owner = "two"
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	met, ok, err := s.Create(ctx, second, time.Now(), (*collected)(tx))
	check.Must(t, err)
	check.Equal(t, ok, false)
	check.Equal(t, met.Owner, "one")
}

// In one statement, the record would be read by each write that succeeds, too.
func TestRefusedWriteReadsTheRecordInASecondRoundTrip(t *testing.T) {
	w := newNetwork(t)
	s := newStore(t, newPool(t, w.prepared, one), nil)
	create(t, s, claim("id", owner))
	refuse := func() {
		met, ok, err := s.Change(t.Context(), driver.Fence{ID: "id", Owner: rival}, complete("1"))
		check.Must(t, err)
		check.Equal(t, ok, false)
		check.Equal(t, met.Owner, owner)
	}
	refuse() // prepares the texts
	check.Equal(t, w.count(refuse), 2)
}
