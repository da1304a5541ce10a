package idempotent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// metRecords are records of each standing to the attempt that owns ownRecord,
// where nothing else plays a part.
var (
	ownRecord  = driver.Record{Status: driver.InProgress, Owner: "me", Attempt: 2, Fingerprint: "f", Steps: stepsOf("a", "=1"), Lease: time.UnixMilli(2e12), Expires: time.UnixMilli(3e12)}
	metRecords = [standings]driver.Record{
		ours:      {Status: driver.InProgress, Owner: "me", Attempt: 2, Lease: time.UnixMilli(2e12)},
		gone:      {},
		reused:    {Status: driver.InProgress, Owner: "other", Attempt: 3, Fingerprint: "g", Lease: time.UnixMilli(2e12)},
		finished:  {Status: driver.Completed, Owner: "other", Attempt: 3},
		abandoned: {Status: driver.InProgress, Attempt: 3, Lease: driver.LeaseEnded, Steps: stepsOf("a", "=1")},
		advanced:  {Status: driver.InProgress, Attempt: 3, Lease: driver.LeaseEnded, Steps: stepsOf("b", "=1")},
		foreign:   {Status: driver.InProgress, Owner: "other", Attempt: 3, Lease: time.UnixMilli(2e12)},
	}
)

// policyRows are all policies, each with the ruling on every standing.
var policyRows = []struct {
	name   string
	policy *policy
	on     [standings]ruling
	// The rulings on the last error: that nothing was written, and a refusal by
	// a condition. Each once where no answer was lost before, and once where one
	// was.
	out, outAfterLost, condition, conditionAfterLost ruling
	// outages, refusals are the tries that there are, 0 for as many as the time
	// allows.
	outages, refusals int
}{
	{"finishing", &finishing, [standings]ruling{again, recreate, yield, takeTheirs, adopt, yield, yield}, unknown, unknown, rejected, rejected, 0, 0},
	{"finishing after a commit", &finishingAfterCommit, [standings]ruling{again, vanished, yield, takeTheirs, adopt, yield, yield}, unknown, unknown, rejected, rejected, 0, 0},
	{"finishing, failed open", finishing.once(), [standings]ruling{again, recreate, yield, takeTheirs, adopt, yield, yield}, unknown, unknown, rejected, rejected, 1, 1},
	{"releasing", &releasing, [standings]ruling{again, done, yield, takeTheirs, done, done, yield}, unknown, unknown, rejected, rejected, 3, 3},
	{"releasing, failed open", releasing.once(), [standings]ruling{again, done, yield, takeTheirs, done, done, yield}, unknown, unknown, rejected, rejected, 1, 1},
	{"committing", &committing, [standings]ruling{again, vanished, vanished, takeTheirs, notWritten, notWritten, yield}, unknown, unknown, rejected, rejected, 0, 3},
	{"settling", &settling, [standings]ruling{again, vanished, vanished, takeTheirs, notWritten, notWritten, yield}, unknown, unknown, rejected, rejected, 0, 3},
	{"creating", &creating, [standings]ruling{landed, another, another, another, another, another, another}, notWritten, unknown, rejected, unknown, 0, 3},
	{"committing alone", &committingAlone, [standings]ruling{}, notWritten, unknown, rejected, unknown, 0, 3},
	{"unclaiming", &unclaiming, [standings]ruling{notWritten, done, done, done, done, done, done}, unknown, unknown, rejected, rejected, 1, 1},
	{"releasing to reclaim", &reclaimRelease, [standings]ruling{again, yield, yield, yield, yield, yield, yield}, unknown, unknown, rejected, rejected, 3, 3},
	{"taking over to reclaim", &reclaimTakeover, [standings]ruling{done, yield, yield, yield, yield, yield, yield}, unknown, unknown, rejected, rejected, 0, 3},
	{"stepping", &stepping, [standings]ruling{again, yield, yield, yield, yield, yield, yield}, unknown, unknown, rejected, rejected, 0, 0},
}

// Every mutant of a cell, a flag or a limit of a policy fails here.
func TestEveryPolicyIsPinned(t *testing.T) {
	t.Run("records", pinMetRecords)
	t.Run("own records", pinOwnRecords)
	t.Run("attempts", pinAttempts)
	t.Run("errors", pinErrors)
}

func pinMetRecords(t *testing.T) {
	for _, row := range policyRows {
		for s, r := range metRecords {
			if got := stand(r, ownRecord, time.UnixMilli(1e12)); got != standing(s) {
				t.Fatalf("the test is wrong: standing %d is %d", s, got)
			}
			if got := row.policy.judge(reply{met: r}, ownRecord, progress{tries: 1, cutoff: time.UnixMilli(1e12)}, false); got != row.on[s] {
				t.Errorf("%s, standing %d: ruling %d, want %d", row.name, s, got, row.on[s])
			}
			// A ruling that sends again has nothing left to send with.
			want := row.on[s]
			if want.sendsAgain() && row.policy != &committingAlone {
				want = unknown
			}
			if got := row.policy.judge(reply{met: r}, ownRecord, progress{tries: 1, cutoff: time.UnixMilli(1e12), timeUp: true}, false); row.policy != &committingAlone && got != want {
				t.Errorf("%s, standing %d, out of time: ruling %d, want %d", row.name, s, got, want)
			}
		}
		if got := row.policy.judge(reply{ok: true, err: errAnswerLost}, ownRecord, progress{tries: 1}, false); got != done {
			t.Errorf("%s, stored: ruling %d", row.name, got)
		}
	}
}

// A finished record that is this write's own is a success, where a write
// finishes.
func pinOwnRecords(t *testing.T) {
	for _, row := range policyRows {
		want := row.on[finished]
		if want == takeTheirs || want == another {
			want = done
		}
		if got := row.policy.judge(reply{met: metRecords[finished]}, ownRecord, progress{tries: 1}, true); row.policy != &committingAlone && got != want {
			t.Errorf("%s: ruling %d, want %d", row.name, got, want)
		}
	}
}

// What has the same attempt, or an earlier one, is no successor's.
func pinAttempts(t *testing.T) {
	released := func(attempt int64) driver.Record {
		return driver.Record{Status: driver.InProgress, Attempt: attempt, Lease: driver.LeaseEnded}
	}
	owned := func(attempt int64) driver.Record {
		return driver.Record{Status: driver.InProgress, Owner: "other", Attempt: attempt, Lease: time.UnixMilli(2e12)}
	}
	lateStep := released(2)
	lateStep.Steps = stepsOf("b", "=1")
	library := driver.Record{Status: driver.InProgress, Lease: time.UnixMilli(2e12)}
	for _, test := range []struct {
		name   string
		policy *policy
		met    driver.Record
		lost   bool
		want   ruling
	}{
		{"a commit, released by us", &committing, released(2), false, notWritten},
		{"a commit, released before us", &committing, released(1), false, vanished},
		{"a commit, owned before us", &committing, owned(2), false, vanished},
		{"a commit, another library's", &committing, library, false, yield},
		{"a commit, another library's, after a lost answer", &committing, library, true, vanished},
		{"settling, released before us", &settling, released(1), false, vanished},
		{"settling, another library's, after a lost answer", &settling, library, true, vanished},
		{"a completion, released before us", &finishing, released(1), false, adopt},
		{"a completion, another library's, after a lost answer", &finishing, library, true, yield},
		{"to reclaim, released by us", &reclaimRelease, released(2), false, done},
		{"to reclaim, still released", &reclaimTakeover, released(2), false, again},
		{"to reclaim, released by us with a late step", &reclaimRelease, lateStep, false, done},
		{"to reclaim, still released with a late step", &reclaimTakeover, lateStep, false, again},
		{"a release, a successor's after a lost answer", &releasing, owned(3), true, done},
		{"a release, another payload's after a lost answer", &releasing, metRecords[reused], true, done},
		{"a completion, a successor's after a lost answer", &finishing, owned(3), true, yield},
		{"a step, a successor's after a lost answer", &stepping, owned(3), true, yield},
		{"a release, with steps", &releasing, driver.Record{Status: driver.InProgress, Owner: "me", Steps: stepsOf("a", "=1")}, false, keepSteps},
		{"a completion, with steps", &finishing, driver.Record{Status: driver.InProgress, Owner: "me", Steps: stepsOf("a", "=1")}, false, again},
	} {
		if got := test.policy.judge(reply{met: test.met}, ownRecord, progress{tries: 1, unacknowledged: test.lost}, false); got != test.want {
			t.Errorf("%s: ruling %d, want %d", test.name, got, test.want)
		}
	}
}

func pinErrors(t *testing.T) {
	outage := fmt.Errorf("away: %w", driver.ErrUnavailable)
	refusal, nothing, condition := errors.New("access denied"), fmt.Errorf("conflict: %w", driver.ErrNotWritten), &driver.Rejected{Err: errors.New("no")}
	for _, row := range policyRows {
		judge := func(err error, at progress) ruling { return row.policy.judge(reply{err: err}, ownRecord, at, false) }
		for name, c := range map[string]struct {
			err   error
			tries int
		}{"outages": {outage, row.outages}, "refusals": {refusal, row.refusals}} {
			for _, tries := range []int{1, 2, 3, 4, 1000} {
				want := again
				if c.tries > 0 && tries >= c.tries {
					want = unknown
				}
				if got := judge(c.err, progress{tries: tries}); got != want {
					t.Errorf("%s, %s, try %d: ruling %d, want %d", row.name, name, tries, got, want)
				}
				if got := judge(c.err, progress{tries: tries, timeUp: true}); got != unknown {
					t.Errorf("%s, %s, out of time: ruling %d", row.name, name, got)
				}
			}
		}
		for _, c := range []struct {
			err  error
			lost bool
			want ruling
		}{
			{nothing, false, row.out}, {nothing, true, row.outAfterLost},
			{condition, false, row.condition}, {condition, true, row.conditionAfterLost},
		} {
			if got := judge(c.err, progress{tries: 9, timeUp: true, unacknowledged: c.lost}); got != c.want {
				t.Errorf("%s: %v (lost: %v): ruling %d, want %d", row.name, c.err, c.lost, got, c.want)
			}
		}
		want := unknown
		if row.policy == &stepping {
			want = tooLarge
		}
		if got := judge(fmt.Errorf("full: %w", driver.ErrTooLarge), progress{tries: 9, timeUp: true}); got != want {
			t.Errorf("%s, too large: ruling %d, want %d", row.name, got, want)
		}
	}
	for elapsed, want := range map[time.Duration]ruling{30 * time.Second: again, 31 * time.Second: unknown} {
		if got := stepping.judge(reply{err: refusal}, ownRecord, progress{tries: 9, elapsed: elapsed}, false); got != want {
			t.Errorf("a step that is refused for %v: ruling %d", elapsed, got)
		}
	}
}

// The form of a write changes with a record that was met, and not with an error.
func TestRepeatKeepsItsFormOverAnOutage(t *testing.T) {
	x, err := New("op", memory.New(0), nil)
	if err != nil {
		t.Fatal(err)
	}
	replies := []reply{{met: metRecords[abandoned]}, {err: errAnswerLost}, {met: metRecords[ours]}, {ok: true}}
	var forms []string
	s := x.repeat(t.Context(), write{policy: &finishing, own: ownRecord, send: func(_ context.Context, how ruling, about driver.Record) reply {
		r := replies[len(forms)]
		forms = append(forms, fmt.Sprint(how, about.Attempt))
		return r
	}})
	if got, want := strings.Join(forms, "; "), fmt.Sprint(again, 0, "; ", adopt, 3, "; ", adopt, 3, "; ", again, 2); got != want || s.ruling != done || !s.unacknowledged {
		t.Errorf("forms %s, want %s; %+v", got, want, s)
	}
}

var errAnswerLost = fmt.Errorf("the answer was lost: %w", driver.ErrUnavailable)
