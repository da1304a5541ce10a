package crashtest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lambda-once/once/internal/kill"
)

// A Report contains the results of all runs. The first is that of the undisturbed
// run.
type Report struct {
	// Name is the name of the function, or of the test.
	Name    string
	Results []Result
	Took    time.Duration
}

// A Result is the result of one run.
type Result struct {
	// Number counts the calls of the run from 1. It is 0 in the result of the
	// undisturbed run, and of one that is disturbed at no call.
	Number int
	// Call names the point, such as "dynamodb PutItem", "step reserve" or the name
	// passed to [Effect].
	Call  string
	Crash Crash
	// Earlier names the crashes before this one in the same run. It is "" unless
	// Trial.Crashes is set.
	Earlier string
	// Retries is the number of deliveries before the final answer.
	Retries int
	// Answer summarizes the final answer: ok, an HTTP status or an error.
	Answer string
	// Broken is the error of the check, or nil. It also reports a duplicate that
	// received a different answer.
	Broken error
	// Err reports that the run could not be judged.
	Err error
}

// A Crash is the fate of a process at a point.
type Crash uint8

const (
	// NoCrash leaves the run undisturbed.
	NoCrash Crash = iota
	// KilledBefore kills the process before the call is sent.
	KilledBefore
	// KilledAfter kills the process when the call is done, and before it receives
	// the answer.
	KilledAfter
	// FrozenBefore stops the process before the call is sent. It continues when
	// a retry has been answered, and the call is sent then.
	FrozenBefore
	// FrozenAfter does the same when the call is done.
	FrozenAfter
	// AnswerLost cuts the connection when the call is done, and leaves the process
	// running. Only [Play] does so, as with the following.
	AnswerLost
	// AtOnce delivers the event to three processes at once.
	AtOnce
	// OtherPayload delivers an event with the same key and another payload when an
	// answer is final. It must not receive that answer.
	OtherPayload
)

func (c Crash) String() string {
	names := [...]string{"never", "killed before", "killed after", "frozen before", "frozen after", "answer lost", "at once", "other payload"}
	if int(c) < len(names) {
		return names[c]
	}
	return fmt.Sprintf("Crash(%d)", uint8(c))
}

// point names where the run was disturbed.
func (r Result) point() string {
	if r.Crash == NoCrash {
		return "undisturbed"
	}
	if r.Number == 0 {
		return r.Crash.String()
	}
	point := fmt.Sprintf("%v %d %s", r.Crash, r.Number, r.Call)
	if r.Earlier != "" {
		point = r.Earlier + ", then " + point
	}
	return point
}

// Points returns the number of points, and of those where the check failed.
func (r Report) Points() (all, broken int) {
	for _, result := range r.Results {
		if result.Crash == NoCrash {
			continue
		}
		all++
		if result.Broken != nil {
			broken++
		}
	}
	return all, broken
}

// Err returns nil if the check passed in the undisturbed run and at every point.
// Otherwise it returns a [*BrokenError], or the errors of runs that could not be
// judged. A report without points is an error.
func (r Report) Err() error {
	var failed []error
	broken := &BrokenError{}
	for _, result := range r.Results {
		if result.Err != nil {
			failed = append(failed, fmt.Errorf("crashtest: %s: %w", result.point(), result.Err))
		}
		if result.Broken != nil {
			broken.Results = append(broken.Results, result)
		}
	}
	failed = failed[:min(len(failed), few)]
	if len(broken.Results) > 0 {
		failed = append(failed, broken)
	}
	broken.Points, _ = r.Points()
	if len(failed) == 0 && broken.Points == 0 {
		return refuse("there was no point to crash at, so the check shows nothing")
	}
	return errors.Join(failed...)
}

// few is the number of points that an error lists.
const few = 3

// A BrokenError reports that a check failed. Each result says where the process
// crashed: find the effect that is done before the point and not recorded, or
// recorded and not done.
type BrokenError struct {
	// Points is the number of points that were played.
	Points int
	// Results are the results of the runs whose check failed.
	Results []Result
}

func (e *BrokenError) Error() string {
	if e.Results[0].Crash == NoCrash {
		return fmt.Sprintf("crashtest: the invariant is broken without a crash: %v", e.Results[0].Broken)
	}
	text := fmt.Sprintf("crashtest: the invariant is broken at %d of %d points", len(e.Results), e.Points)
	for _, r := range e.Results[:min(len(e.Results), few)] {
		text += fmt.Sprintf("; %s: %v", r.point(), r.Broken)
	}
	if len(e.Results) > few {
		text += "; …"
	}
	return text
}

// Unwrap returns the errors of the checks.
func (e *BrokenError) Unwrap() (all []error) {
	for _, r := range e.Results {
		all = append(all, r.Broken)
	}
	return all
}

// String returns a table with a line for every run, and a summary. Of runs with
// several crashes, it shows only those whose check failed.
func (r Report) String() string {
	rows := [][]any{{"call", "crash", "retries", "answer", "invariant"}}
	for _, result := range r.Results {
		if result.Earlier != "" && result.Broken == nil && result.Err == nil {
			continue
		}
		call, verdict := "all", "holds"
		if result.Number != 0 {
			call = fmt.Sprintf("%2d %s", result.Number, result.Call)
		}
		if result.Earlier != "" {
			call += ", after " + result.Earlier
		}
		if result.Broken != nil {
			verdict = "BROKEN: " + oneLine(result.Broken)
		}
		if result.Err != nil {
			verdict = "ERROR: " + oneLine(result.Err)
		}
		rows = append(rows, []any{call, result.Crash, result.Retries, result.Answer, verdict})
	}
	all, broken := r.Points()
	return fmt.Sprintf("%s\n\n%s\n%d points, broken at %d, in %v\n", r.Name, kill.Table(rows), all, broken, r.Took.Round(time.Millisecond))
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
