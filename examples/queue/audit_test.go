package main

import (
	"slices"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// look reads all in one statement: at no moment is there a completed transfer
// without its notice, or a notice without it, and money neither appears nor vanishes.
//
// It also has retries come due at once, which River would delay by up to minutes.
func (s *storm) look() {
	s.Helper()
	var completed, notices, sum int
	err := s.pool.QueryRow(s.Context(), `SELECT (SELECT count(*) FROM idempotency WHERE status = $1), (SELECT count(*) FROM river_job), (SELECT sum(balance) FROM accounts)`,
		string(driver.Completed)).Scan(&completed, &notices, &sum)
	check.Must(s, err)
	check.Equal(s, completed, notices, "completed transfers have")
	check.Equal(s, sum, 1100010, "the balances have the sum")
	if _, err := s.pool.Exec(s.Context(), "UPDATE river_job SET scheduled_at = now() WHERE state = 'retryable' AND scheduled_at > now()"); err != nil {
		s.Fatal(err)
	}
}

// drain waits until all jobs are done, those of killed processes included.
func (s *storm) drain() {
	s.Helper()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	var open int
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-ticker.C {
		s.look()
		check.Must(s, s.pool.QueryRow(s.Context(), "SELECT count(*) FROM river_job WHERE finalized_at IS NULL").Scan(&open))
		if open == 0 {
			return
		}
	}
	s.Errorf("%d jobs are not done after %v", open, patience)
}

// check compares each transfer with its record, its job and its effects.
func (s *storm) check() {
	s.receiver.mu.Lock()
	defer s.receiver.mu.Unlock()
	completed := 0
	for _, e := range s.sent {
		record, err := idempotent.Key{ID: e.TransferID, Payload: e}.RecordID("transfer")
		check.Must(s, err)
		var status string
		var ids, states []string
		err = s.pool.QueryRow(s.Context(), `SELECT COALESCE((SELECT status FROM idempotency WHERE id = $1), ''),
			COALESCE(array_agg(args->>'id'), '{}'), COALESCE(array_agg(state::text), '{}') FROM river_job WHERE args->'transfer'->>'transferId' = $2`,
			record, e.TransferID).Scan(&status, &ids, &states)
		check.Must(s, err)
		want := 0
		if status == string(driver.Completed) {
			completed++
			want = 1
		}
		check.Equal(s, len(ids), want, e.TransferID, status)
		check.Slice(s, s.receiver.effects[e.TransferID], ids, e.TransferID, "effects and notices")
		check.False(s, slices.ContainsFunc(states, func(state string) bool { return state != "completed" }), "the notices", e.TransferID, states)
		if failure, ok := s.answered[e.TransferID]; ok && (failure == "") != (want == 1) {
			s.Errorf("%s was answered with %q, and is %s", e.TransferID, failure, status)
		}
	}
	if completed == 0 || completed == len(s.sent) {
		s.Errorf("%d of %d transfers are completed: want some of both", completed, len(s.sent))
	}
	check.True(s, s.receiver.requests > len(s.receiver.bodies), "none of", len(s.receiver.bodies), "notices was repeated")
}
