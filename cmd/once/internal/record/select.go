package record

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/idempotent/driver"
)

// Selection selects records by state, error, time and attempt. Stores select by id and status
// alone, so the rest is compared here.
type Selection struct {
	states       states
	Cause        string // the type of an error, or its type and code as type/code
	since, until cli.Moment
	attempt      int64
	older        time.Duration
	Untold       int // records that do not tell since when they are as they are
}

// statusOf has the status of each state that can be selected. A record that is over has any.
var statusOf = map[State]driver.Status{
	Running: driver.InProgress, Leaseless: driver.InProgress, Lapsed: driver.InProgress, Released: driver.InProgress, InProgress: driver.InProgress, Waiting: driver.InProgress,
	Completed: driver.Completed, Failed: driver.Failed, Over: driver.Absent,
}

func (o *Selection) Add(f *flag.FlagSet) {
	f.Var(&o.states, "state", "only records in this `state`: in-progress, which is running, leaseless, lapsed or released; completed, failed or over; or waiting: lapsed or released, and kept until a person decides; repeatable")
	f.StringVar(&o.Cause, "error", "", "only failed records with an error of this `type`, or type/code; their texts are not compared")
	f.Var(&o.since, "since", "only records that are as they are since this `time` or later, such as 24h (ago), 2026-01-31 or 2026-01-31T15:04:05Z")
	f.Var(&o.until, "until", "only records that are as they are since this `time` or earlier")
	f.Int64Var(&o.attempt, "attempt", 0, "only records whose attempt has this `number` or a higher one")
	cli.DurationVar(f, &o.older, "older-than", 0, "only records in progress whose lease ended this `duration` ago or earlier, such as 15m or 7d")
}

type states []State

func (s *states) String() string { return fmt.Sprint(*s) }

func (s *states) Set(name string) error {
	if _, known := statusOf[State(name)]; !known {
		return fmt.Errorf("it is none of %v", slices.Sorted(maps.Keys(statusOf)))
	}
	*s = append(*s, State(name))
	return nil
}

// Narrow has the store leave out records of other statuses.
func (o *Selection) Narrow(q *driver.Filter) error {
	switch {
	case o.older < 0 || o.older > 0 && o.Cause != "":
		return cli.Endf(cli.CodeUsage, "--older-than is a time ago, of records in progress, which have no --error")
	case o.Cause != "" && len(o.states) > 0 && !slices.Contains(o.states, Failed):
		return cli.Endf(cli.CodeUsage, "only a failed record has an --error")
	case o.older > 0:
		q.Status = driver.InProgress
	case o.Cause != "":
		q.Status = driver.Failed
	case len(o.states) == 1:
		q.Status = statusOf[o.states[0]]
	}
	return nil
}

// Selects reports whether the flags select a record. before is the time less the clock skew.
func (o *Selection) Selects(r *Record, before time.Time) bool {
	is, at := r.StateAt(before), r.Since(before)
	switch {
	case o.older > 0 && !r.Lease.IsZero() && !r.Lapsed(before.Add(-o.older)):
		return false
	case o.attempt > 0 && max(r.Attempt, 1) < o.attempt:
		return false
	case len(o.states) > 0 && !slices.ContainsFunc(o.states, func(s State) bool { return r.isIn(s, is) }):
		return false
	case o.Cause != "" && o.Cause != r.Cause() && o.Cause != r.failure().Type:
		return false
	case (o.since.IsSet || o.until.IsSet) && at.IsZero():
		o.Untold++
		return false
	}
	return !(o.since.IsSet && at.Before(o.since.At)) && !(o.until.IsSet && at.After(o.until.At))
}

// isIn reports whether the record, which is in this state, is one of those that a name selects.
func (r *Record) isIn(name, is State) bool {
	switch name {
	case InProgress:
		return is != Over && r.Status == driver.InProgress
	case Waiting:
		return (is == Lapsed || is == Released) && r.NeverExpires()
	}
	return is == name
}
