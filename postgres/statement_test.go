package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func layoutOf(t *testing.T) *layout {
	t.Helper()
	l, err := (*Options)(nil).layout(table, nil)
	check.Must(t, err)
	return l
}

// A claim sends only the values in which claims differ, and gets back only the record that
// it has met.
func TestTextOfAClaim(t *testing.T) {
	check.Equal(t, layoutOf(t).insert(claim("a", owner)).sql, `WITH "idempotency_met" AS (`+
		`SELECT "id", "status", "owner", "attempt", "refunds", "lease", "expires", "fingerprint", "payload", "unavailable", "data", "steps", "began", "request", "ended" `+
		`FROM "idempotency" WHERE "id" = $1::text), "idempotency_written" AS (INSERT INTO "idempotency" `+
		`("id", "status", "owner", "attempt", "refunds", "lease", "expires", "fingerprint", "payload", "unavailable", "data", "steps", "began", "request", "ended") `+
		`SELECT $1::text, 'INPROGRESS', $2::text, $3::bigint, 0::bigint, $4::timestamptz, $5::timestamptz, $6::text, ''::text, ''::text, NULL::bytea, ''::bytea, $7::timestamptz, NULL::bytea, NULL::text `+
		`WHERE NOT EXISTS (SELECT FROM "idempotency_met") ON CONFLICT ("id") DO NOTHING RETURNING 1) `+
		`SELECT true, ''::text, ''::text, ''::text, 0::bigint, 0::bigint, NULL::timestamptz, NULL::timestamptz, ''::text, ''::text, ''::text, NULL::bytea, NULL::bytea, NULL::timestamptz, NULL::bytea, NULL::text `+
		`FROM "idempotency_written" UNION ALL `+
		`SELECT false, "id", "status", "owner", "attempt", "refunds", "lease", "expires", "fingerprint", "payload", "unavailable", "data", "steps", "began", "request", "ended" FROM "idempotency_met"`)
}

// A request is one more value, and a claim without one sends none.
func TestRequestIsOneMoreValueOfAClaim(t *testing.T) {
	r := claim("a", owner)
	without := layoutOf(t).insert(r)
	r.Request = []byte("{}")
	with := layoutOf(t).insert(r)
	check.Equal(t, len(without.args), 7)
	check.Equal(t, len(with.args), 8)
	check.Contains(t, with.sql, "$7::timestamptz, $8::bytea, NULL::text WHERE NOT EXISTS")
}

// A completion is a plain UPDATE, and returns nothing.
func TestTextOfACompletion(t *testing.T) {
	check.Equal(t, layoutOf(t).change(fence(claim("a", owner)), complete("1")).sql, `UPDATE "idempotency" AS stored `+
		`SET "expires" = $2::timestamptz, "status" = $3::text, "data" = $4::bytea, "payload" = $5::text, "unavailable" = $6::text, "steps" = NULL, "request" = NULL, "ended" = $7::text, "lease" = NULL `+
		`WHERE stored."id" = $1::text AND stored."status" = 'INPROGRESS' AND stored."owner" = $8::text`)
}

// A duplicate does not wait for a transaction that has completed the record.
func TestDuplicateDoesNotWaitForACompletion(t *testing.T) {
	pool := newPool(t)
	s := newStore(t, pool, nil)
	newEffects(t, pool)
	create(t, s, claim("id", owner))
	tx := hold(t, pool, s)
	st := s.layout.change(driver.Fence{ID: "id", Owner: owner}, complete("1"))
	_, err := tx.Exec(t.Context(), st.sql, st.args...)
	check.Must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	met, ok, err := s.Create(ctx, claim("id", rival), now, nil)
	check.Must(t, err)
	check.Equal(t, ok, false)
	check.Equal(t, met.Owner, owner)
	// Nor does one that would be committed with a transaction.
	with := new(Tx)
	with.Exec(add, "a", 1)
	_, err = (*collected)(with).Freeze()
	check.Must(t, err)
	finished := claim("id", rival)
	finished.Status = driver.Completed
	met, ok, err = s.Create(ctx, finished, now, (*collected)(with))
	check.Must(t, err)
	check.Equal(t, ok, false)
	check.Equal(t, met.Owner, owner)
	// Nor does a write of another owner.
	_, ok, err = s.Change(ctx, driver.Fence{ID: "id", Owner: rival}, complete("2"))
	check.Must(t, err)
	check.Equal(t, ok, false)
}

// between returns a store that runs sql before its second statement.
func between(t *testing.T, s *Store, sql string) *Store {
	return &Store{layout: s.layout, db: through(s.db, func(n int, _ string) error {
		if n == 2 {
			execute(t, s.db, sql)
		}
		return nil
	})}
}

// A claim that has met an expired record sends a second statement.
func TestExpiredRecordThatChangesBeforeItIsReplaced(t *testing.T) {
	s := newStore(t, newPool(t), nil)
	for name, c := range map[string]struct {
		sql   string
		ok    bool
		owner string
	}{
		"it stays":             {"SELECT 1", true, rival},
		"it is swept":          {"DELETE FROM idempotency WHERE id = 'it is swept'", true, rival},
		"a third one claims":   {"UPDATE idempotency SET status = 'INPROGRESS', owner = 'third', lease = '2100-01-01', expires = '2100-01-01'", false, "third"},
		"it no longer expires": {"UPDATE idempotency SET expires = NULL, owner = 'kept'", false, "kept"},
	} {
		t.Run(name, func(t *testing.T) {
			s.plant(t, expired(name, time.Hour))
			met, ok, err := between(t, s, c.sql+" /* "+name+" */").Create(t.Context(), claim(name, rival), now, nil)
			check.Must(t, err)
			check.Equal(t, ok, c.ok)
			check.Equal(t, met.Owner, c.owner)
			check.Equal(t, get(t, s, name).Owner, c.owner)
		})
	}
}

// A write whose condition failed reads the record in a second statement. It must not
// report a record on which the condition holds.
func TestRefusedWriteWhoseConditionHoldsBeforeItReadsIsSentAgain(t *testing.T) {
	s := newStore(t, newPool(t), nil)
	create(t, s, claim("id", rival))
	r, ok, err := between(t, s, "UPDATE idempotency SET owner = '"+owner+"'").
		Change(t.Context(), driver.Fence{ID: "id", Owner: owner}, complete("1"))
	check.Must(t, err)
	check.Equal(t, ok, true)
	check.Equal(t, r.Status, driver.Completed)
	check.Equal(t, string(get(t, s, "id").Data), "1")
}

func TestRefusedWriteOfARecordThatIsDeletedBeforeItReadsMeetsNone(t *testing.T) {
	s := newStore(t, newPool(t), nil)
	create(t, s, claim("id", rival))
	met, ok, err := between(t, s, "DELETE FROM idempotency").Change(t.Context(), driver.Fence{ID: "id", Owner: owner}, complete("1"))
	check.Must(t, err)
	check.Equal(t, ok, false)
	check.Equal(t, met.Status, driver.Absent)
}

// A restore that stopped before the keys of its tables leaves such a table.
func TestClaimOnATableWithoutUniqueIdsIsRefused(t *testing.T) {
	pool := newPool(t)
	s := newStore(t, pool, nil)
	execute(t, pool, `ALTER TABLE idempotency DROP CONSTRAINT idempotency_pkey`)
	_, ok, err := s.Create(t.Context(), claim("a", owner), now, nil)
	check.Equal(t, ok, false)
	check.Says(t, err, "42P10")
}

// The error of a deferred constraint comes after the count of rows.
func TestWriteThatFailsAtItsCommitIsAnError(t *testing.T) {
	pool := newPool(t)
	s := newStore(t, pool, nil)
	create(t, s, claim("id", owner))
	execute(t, pool, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'late'; END $$`,
		`CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON idempotency DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`)
	_, ok, err := s.Change(t.Context(), driver.Fence{ID: "id", Owner: owner}, complete("1"))
	check.Equal(t, ok, false)
	check.Says(t, err, "late")
	check.Equal(t, get(t, s, "id").Status, driver.InProgress)
}
