package protocol

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// metRecords are records of each standing to the attempt that owns ownRecord,
// where nothing else plays a part.
var (
	ownRecord  = driver.Record{Status: driver.InProgress, Owner: "me", Attempt: 2, Fingerprint: "f", Steps: stepsOf("a", "=1"), Lease: time.UnixMilli(2e12), Expires: time.UnixMilli(3e12)}
	metRecords = [standings]driver.Record{
		Ours:      {Status: driver.InProgress, Owner: "me", Attempt: 2, Lease: time.UnixMilli(2e12)},
		Gone:      {},
		Reused:    {Status: driver.InProgress, Owner: "other", Attempt: 3, Fingerprint: "g", Lease: time.UnixMilli(2e12)},
		Finished:  {Status: driver.Completed, Owner: "other", Attempt: 3},
		Abandoned: {Status: driver.InProgress, Attempt: 3, Lease: driver.LeaseEnded, Steps: stepsOf("a", "=1")},
		Advanced:  {Status: driver.InProgress, Attempt: 3, Lease: driver.LeaseEnded, Steps: stepsOf("b", "=1")},
		Foreign:   {Status: driver.InProgress, Owner: "other", Attempt: 3, Lease: time.UnixMilli(2e12)},
	}
)

// policyRows are all policies, each with the ruling on every standing.
var policyRows = []struct {
	name   string
	policy *Policy
	on     [standings]Ruling
	// The rulings on the last error: that nothing was written, and a refusal by
	// a condition. Each once where no answer was lost before, and once where one
	// was.
	out, outAfterLost, condition, conditionAfterLost Ruling
	// outages, refusals are the tries that there are, 0 for as many as the time
	// allows.
	outages, refusals int
}{
	{"claiming", &Claiming, [standings]Ruling{Landed, Another, Another, Another, Another, Another, Another}, Unknown, Unknown, Rejected, Rejected, 1, 1},
	{"extending", &Extending, [standings]Ruling{NotWritten, Yield, Yield, Yield, Yield, Yield, Yield}, Unknown, Unknown, Rejected, Rejected, 1, 1},
	{"finishing", &Finishing, [standings]Ruling{Again, Recreate, Yield, TakeTheirs, Adopt, Yield, Yield}, Unknown, Unknown, Rejected, Rejected, 0, 0},
	{"finishing after a commit", &FinishingAfterCommit, [standings]Ruling{Again, Vanished, Yield, TakeTheirs, Adopt, Yield, Yield}, Unknown, Unknown, Rejected, Rejected, 0, 0},
	{"finishing, failed open", Finishing.Once(), [standings]Ruling{Again, Recreate, Yield, TakeTheirs, Adopt, Yield, Yield}, Unknown, Unknown, Rejected, Rejected, 1, 1},
	{"releasing", &Releasing, [standings]Ruling{Again, Done, Yield, TakeTheirs, Done, Done, Yield}, Unknown, Unknown, Rejected, Rejected, 3, 3},
	{"releasing, failed open", Releasing.Once(), [standings]Ruling{Again, Done, Yield, TakeTheirs, Done, Done, Yield}, Unknown, Unknown, Rejected, Rejected, 1, 1},
	{"committing", &Committing, [standings]Ruling{Again, Vanished, Vanished, TakeTheirs, NotWritten, NotWritten, Yield}, Unknown, Unknown, Rejected, Rejected, 0, 3},
	{"deciding on a commit", &Deciding, [standings]Ruling{Again, Vanished, Vanished, TakeTheirs, NotWritten, NotWritten, Yield}, Unknown, Unknown, Rejected, Rejected, 0, 3},
	{"creating", &Creating, [standings]Ruling{Landed, Another, Another, Another, Another, Another, Another}, NotWritten, Unknown, Rejected, Unknown, 0, 3},
	{"committing alone", &CommittingAlone, [standings]Ruling{}, NotWritten, Unknown, Rejected, Unknown, 0, 3},
	{"unclaiming", &Unclaiming, [standings]Ruling{NotWritten, Done, Done, Done, Done, Done, Done}, Unknown, Unknown, Rejected, Rejected, 1, 1},
	{"releasing to reclaim", &ReclaimRelease, [standings]Ruling{Again, Yield, Yield, Yield, Yield, Yield, Yield}, Unknown, Unknown, Rejected, Rejected, 3, 3},
	{"taking over to reclaim", &ReclaimTakeover, [standings]Ruling{Done, Yield, Yield, Yield, Yield, Yield, Yield}, Unknown, Unknown, Rejected, Rejected, 0, 3},
	{"stepping", &Stepping, [standings]Ruling{Again, Yield, Yield, Yield, Yield, Yield, Yield}, Unknown, Unknown, Rejected, Rejected, 0, 0},
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
			if got := stand(&r, &ownRecord, time.UnixMilli(1e12)); got != Standing(s) {
				t.Fatalf("the test is wrong: standing %d is %d", s, got)
			}
			check.Equal(t, row.policy.Judge(&Reply{Met: r}, &ownRecord, Progress{Tries: 1, Cutoff: time.UnixMilli(1e12)}, false), row.on[s], row.name)
			// A ruling that sends again has nothing left to send with.
			want := row.on[s]
			if want.SendsAgain() && row.policy != &CommittingAlone {
				want = Unknown
			}
			if got := row.policy.Judge(&Reply{Met: r}, &ownRecord, Progress{Tries: 1, Cutoff: time.UnixMilli(1e12), TimeUp: true}, false); row.policy != &CommittingAlone && got != want {
				t.Errorf("%s, standing %d, out of time: ruling %d, want %d", row.name, s, got, want)
			}
		}
		check.Equal(t, row.policy.Judge(&Reply{OK: true, Err: errAnswerLost}, &ownRecord, Progress{Tries: 1}, false), Done, "stored: ruling", row.name)
	}
}

// A finished record that is this write's own is a success, where a write
// finishes.
func pinOwnRecords(t *testing.T) {
	for _, row := range policyRows {
		want := row.on[Finished]
		if want == TakeTheirs || want == Another {
			want = Done
		}
		if got := row.policy.Judge(&Reply{Met: metRecords[Finished]}, &ownRecord, Progress{Tries: 1}, true); row.policy != &CommittingAlone && got != want {
			t.Errorf("%s: ruling %d, want %d", row.name, got, want)
		}
	}
	check.Equal(t, Extending.Judge(&Reply{Met: metRecords[Ours]}, &ownRecord, Progress{Tries: 1}, true), Done, "extending, as long as the lease that was met: ruling")
}

// What has the same attempt, or an earlier one, is no successor's.
func pinAttempts(t *testing.T) {
	released := func(attempt int64) driver.Record {
		return driver.Record{Status: driver.InProgress, Attempt: attempt, Lease: driver.LeaseEnded}
	}
	owned := func(attempt int64) driver.Record {
		return driver.Record{Status: driver.InProgress, Owner: "other", Attempt: attempt, Lease: time.UnixMilli(2e12)}
	}
	delayedStep := released(2)
	delayedStep.Steps = stepsOf("b", "=1")
	library := driver.Record{Status: driver.InProgress, Lease: time.UnixMilli(2e12)}
	for _, test := range []struct {
		name   string
		policy *Policy
		met    driver.Record
		lost   bool
		want   Ruling
	}{
		{"a commit, released by us", &Committing, released(2), false, NotWritten},
		{"a commit, released before us", &Committing, released(1), false, Vanished},
		{"a commit, owned before us", &Committing, owned(2), false, Vanished},
		{"a commit, another library's", &Committing, library, false, Yield},
		{"a commit, another library's, after a lost answer", &Committing, library, true, Vanished},
		{"deciding on a commit, released before us", &Deciding, released(1), false, Vanished},
		{"deciding on a commit, another library's, after a lost answer", &Deciding, library, true, Vanished},
		{"a completion, released before us", &Finishing, released(1), false, Adopt},
		{"a completion, another library's, after a lost answer", &Finishing, library, true, Yield},
		{"to reclaim, released by us", &ReclaimRelease, released(2), false, Done},
		{"to reclaim, still released", &ReclaimTakeover, released(2), false, Again},
		{"to reclaim, released by us with a delayed step", &ReclaimRelease, delayedStep, false, Done},
		{"to reclaim, still released with a delayed step", &ReclaimTakeover, delayedStep, false, Again},
		{"a release, a successor's after a lost answer", &Releasing, owned(3), true, Done},
		{"a release, another payload's after a lost answer", &Releasing, metRecords[Reused], true, Done},
		{"a completion, a successor's after a lost answer", &Finishing, owned(3), true, Yield},
		{"a step, a successor's after a lost answer", &Stepping, owned(3), true, Yield},
		{"a release, with steps", &Releasing, driver.Record{Status: driver.InProgress, Owner: "me", Steps: stepsOf("a", "=1")}, false, KeepSteps},
		{"a completion, with steps", &Finishing, driver.Record{Status: driver.InProgress, Owner: "me", Steps: stepsOf("a", "=1")}, false, Again},
	} {
		check.Equal(t, test.policy.Judge(&Reply{Met: test.met}, &ownRecord, Progress{Tries: 1, Unacknowledged: test.lost}, false), test.want, test.name)
	}
}

func pinErrors(t *testing.T) {
	outage := fmt.Errorf("away: %w", driver.ErrUnavailable)
	denial := fmt.Errorf("no permission: %w", driver.ErrDenied)
	refusal, nothing, condition := errors.New("the credentials have expired"), fmt.Errorf("conflict: %w", driver.ErrNotWritten), &driver.Rejected{Err: errors.New("no")}
	for _, row := range policyRows {
		judge := func(err error, at Progress) Ruling { return row.policy.Judge(&Reply{Err: err}, &ownRecord, at, false) }
		for name, c := range map[string]struct {
			err   error
			tries int
		}{"outages": {outage, row.outages}, "refusals": {refusal, row.refusals}, "denials": {denial, row.refusals}} {
			for _, tries := range []int{1, 2, 3, 4, 1000} {
				want := Again
				if c.tries > 0 && tries >= c.tries {
					want = Unknown
				}
				check.Equal(t, judge(c.err, Progress{Tries: tries}), want, row.name, name, tries)
				check.Equal(t, judge(c.err, Progress{Tries: tries, TimeUp: true}), Unknown, row.name, name)
			}
		}
		for _, c := range []struct {
			err  error
			lost bool
			want Ruling
		}{
			{nothing, false, row.out}, {nothing, true, row.outAfterLost},
			{condition, false, row.condition}, {condition, true, row.conditionAfterLost},
		} {
			check.Equal(t, judge(c.err, Progress{Tries: 9, TimeUp: true, Unacknowledged: c.lost}), c.want, row.name, c.err, c.lost)
		}
		want := Unknown
		if row.policy == &Stepping {
			want = TooLarge
		}
		check.Equal(t, judge(fmt.Errorf("full: %w", driver.ErrTooLarge), Progress{Tries: 9, TimeUp: true}), want, "too large: ruling", row.name)
	}
	for _, limited := range []struct {
		name   string
		policy *Policy
		err    error
	}{
		{"a step that is refused", &Stepping, refusal},
		{"a step that is denied", &Stepping, denial},
		{"a completion that is denied", &Finishing, denial},
		{"a completion that is denied after a commit", &FinishingAfterCommit, denial},
	} {
		for _, at := range []struct {
			elapsed, pause time.Duration
			want           Ruling
		}{{30 * time.Second, 0, Again}, {28 * time.Second, 2 * time.Second, Again}, {29 * time.Second, 2 * time.Second, Unknown}, {31 * time.Second, 0, Unknown}} {
			check.Equal(t, limited.policy.Judge(&Reply{Err: limited.err}, &ownRecord, Progress{Tries: 9, Elapsed: at.elapsed, Denied: at.elapsed, Pause: at.pause}, false), at.want, limited.name, at.elapsed, at.pause)
		}
	}
	for _, err := range []error{refusal, outage} {
		check.Equal(t, Finishing.Judge(&Reply{Err: err}, &ownRecord, Progress{Tries: 9, Elapsed: time.Hour}, false), Again, err)
	}
}

var errAnswerLost = fmt.Errorf("the answer was lost: %w", driver.ErrUnavailable)
