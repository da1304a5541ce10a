package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/form"
)

// selectFlags select records by what a person looks for. Stores select by id and status
// alone, so that all else is compared here.
type selectFlags struct {
	states       []state
	cause        string // the type of an error, or its type and code as type/code
	since, until moment
	attempt      int64
	untold       int // records that do not tell since when they are as they are
}

// waiting selects the records that need a person, as far as the record tells: the limits of
// the function decide whether its next call runs.
const waiting state = "waiting"

// statusOf has the status of each state that can be selected. A record that is over has any.
var statusOf = map[state]driver.Status{
	running: driver.InProgress, leaseless: driver.InProgress, lapsed: driver.InProgress, released: driver.InProgress, waiting: driver.InProgress,
	completed: driver.Completed, failed: driver.Failed, over: driver.Absent,
}

func (o *selectFlags) add(f *flag.FlagSet) {
	f.Func("state", "only records in this `state`: running, leaseless, lapsed, released, completed, failed or over; or waiting: lapsed or released, and kept until a person decides; repeatable", func(s string) error {
		if _, known := statusOf[state(s)]; !known {
			return errors.New("there is no such state")
		}
		o.states = append(o.states, state(s))
		return nil
	})
	f.StringVar(&o.cause, "error", "", "only failed records with an error of this `type`, or type/code; their texts are not compared")
	f.Var(&o.since, "since", "only records that are as they are since this `time` or later, such as 24h (ago), 2026-01-31 or 2026-01-31T15:04:05Z")
	f.Var(&o.until, "until", "only records that are as they are since this `time` or earlier")
	f.Int64Var(&o.attempt, "attempt", 0, "only records whose attempt has this `number` or a higher one")
}

// narrow has the store select what it can.
func (o *selectFlags) narrow(q *driver.Filter) error {
	switch {
	case o.cause != "" && q.Status != driver.Absent && q.Status != driver.Failed:
		return endf(codeUsage, "only a record that is FAILED has an --error")
	case o.cause != "":
		q.Status = driver.Failed
	case len(o.states) == 1 && q.Status == driver.Absent:
		q.Status = statusOf[o.states[0]]
	}
	return nil
}

// selects reports whether the flags select a record. before is the time less the clock skew.
func (o *selectFlags) selects(r *record, before time.Time) bool {
	is, at := r.at(before), r.since(before)
	isWaiting := (is == lapsed || is == released) && r.neverExpires()
	switch {
	case o.attempt > 0 && max(r.Attempt, 1) < o.attempt:
		return false
	case len(o.states) > 0 && !slices.Contains(o.states, is) && !(isWaiting && slices.Contains(o.states, waiting)):
		return false
	case o.cause != "" && o.cause != r.cause() && o.cause != r.causeType():
		return false
	case (o.since.set || o.until.set) && at.IsZero():
		o.untold++
		return false
	}
	return !(o.since.set && at.Before(o.since.at)) && !(o.until.set && at.After(o.until.at))
}

// since returns since when the record is in its state, or the zero time if it does not
// tell: another library or a version before endings has finished it, or it was released, or
// it runs again.
func (r *record) since(before time.Time) time.Time {
	switch {
	case r.Status != driver.InProgress:
		return r.end().At
	case r.released(), r.Attempt > 1 && !r.Lapsed(before):
		return time.Time{}
	case r.at(before) == lapsed:
		return r.Lease
	}
	return r.Began
}

// causeType names the error of a failed record. An earlier version has stored it in the
// result alone, which may be sealed, or not read.
func (r *record) causeType() string {
	if r.Status != driver.Failed {
		return ""
	}
	if e := r.end(); e.Type != "" {
		return e.Type
	}
	return r.storedFailure().Type
}

// cause returns the type and the code of the error as --error takes them.
func (r *record) cause() string {
	code := r.end().Code
	if r.Status == driver.Failed && r.end().Type == "" {
		code = r.storedFailure().Code
	}
	return present("/", r.causeType(), code)
}

func (r *record) storedFailure() (f form.Failure) {
	if json.Unmarshal(r.Data, &f) != nil {
		return form.Failure{}
	}
	return f
}

// moment is a time as a flag takes it.
type moment struct {
	text string
	set  bool
	at   time.Time
}

func (m *moment) String() string { return m.text }

func (m *moment) Set(s string) error {
	var ago duration
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		at, err = time.ParseInLocation(time.DateOnly, s, time.UTC)
	}
	if err != nil && ago.Set(s) == nil && ago >= 0 {
		at, err = time.Now().Add(-time.Duration(ago)), nil
	}
	if err != nil {
		return fmt.Errorf("it is no time such as 24h, 7d, %s or %s", time.DateOnly, strings.Replace(time.RFC3339, "Z07:00", "Z", 1))
	}
	*m = moment{s, true, at}
	return nil
}
