package protocol

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
)

// everyRun yields every mode with every run that a call can ask about.
func everyRun(yield func(Mode, Run)) {
	for _, r := range runs() {
		for hold := range holds {
			for holder := range holders {
				yield(Mode{hold, holder}, r)
			}
		}
	}
}

// runs are all values of Run, whatever fields it has.
var runs = sync.OnceValue(func() []Run {
	all := []Run{{}}
	for field := range reflect.TypeFor[Run]().NumField() {
		for _, r := range all {
			switch v := reflect.ValueOf(&r).Elem().Field(field); v.Kind() {
			case reflect.Bool:
				v.SetBool(true)
				all = append(all, r)
			default: // Undone
				for undone := NotBegun + 1; undone <= SomeUndone; undone++ {
					v.Set(reflect.ValueOf(undone))
					all = append(all, r)
				}
			}
		}
	}
	return all
})

// promises are what holds for every run, in every mode. Each reports whether it
// holds for a plan.
var promises = map[string]func(Mode, Run, Plan) bool{
	"a handler that did not run leaves nothing but a claim to remove": func(m Mode, r Run, p Plan) bool {
		if !r.NotRun {
			return p != Unclaim
		}
		hasClaim := m.Hold == Claimed || m.Hold == FailedOpen
		return hasClaim && p == Unclaim || !hasClaim && p == Nothing
	},
	"without a record no record is written": func(m Mode, _ Run, p Plan) bool {
		alone := p == CommitAlone || p == UndoOpenly || p == Nothing
		return (m.Hold == Bypassed) == alone || p == Nothing && m.Hold == Optimistic
	},
	"only a run without a claim creates the record": func(m Mode, _ Run, p Plan) bool {
		switch p {
		case Create:
			return m.Hold == Optimistic || m.Hold == FailedOpen
		case CreateFailure:
			return m.Hold == Optimistic
		case Commit:
			return m.Hold == Claimed
		case Complete, Fail:
			return m.Hold != Optimistic
		}
		return true
	},
	"success is stored, and nothing else is": func(m Mode, r Run, p Plan) bool {
		stores := p == Complete || p == Commit || p == Create || p == CommitAlone
		failed := r.NotRun || r.Failed || r.Panicked || r.Undone != NotBegun
		if m.Hold != Bypassed {
			failed = failed || r.Undoing || r.Stopped
		}
		return stores == !failed || !failed && m.Hold == Bypassed && p == Nothing && !r.Attached
	},
	"what is attached is committed with the result": func(m Mode, r Run, p Plan) bool {
		return p != Complete || !r.Attached
	},
	"nothing is committed that was not attached, but the record": func(m Mode, r Run, p Plan) bool {
		return (p != Commit && p != Create && p != CommitAlone) || r.Attached || m.Hold == Optimistic
	},
	"undoing ends: it is asked for once": func(_ Mode, r Run, p Plan) bool {
		return p != Undo && p != UndoOpenly || r.Undone == NotBegun
	},
	"a panic of an undo function does not begin to undo again": func(_ Mode, r Run, p Plan) bool {
		return !r.Panicked || !r.Undoing || p != Undo
	},
	"a failure is stored when all is undone, and not before": func(m Mode, r Run, p Plan) bool {
		stores := p == Fail || p == CreateFailure
		return stores == (r.Undone == AllUndone && !r.NotRun && m.Hold != Bypassed)
	},
	"a step that may not be recorded keeps its claim": func(m Mode, r Run, p Plan) bool {
		return !r.Unacknowledged || m.Hold == Bypassed || p != Release && p != Refund
	},
	"a claim is kept for such a step alone": func(_ Mode, r Run, p Plan) bool { return p != KeepClaim || r.Unacknowledged },
	"what may run elsewhere is left, and only that": func(m Mode, r Run, p Plan) bool {
		if p == Leave {
			return r.Leave && m.Holder != OneCall && m.Hold != Bypassed
		}
		frees := p == Release || p == Refund || p == KeepClaim || p == Undo
		return !frees || !r.Leave || m.Holder == OneCall
	},
	"a stopped run undoes itself, also in a panic": func(m Mode, r Run, p Plan) bool {
		asks := r.Stopped && !r.Undoing && !r.NotRun && r.Undone == NotBegun && m.Hold != Bypassed && !(r.Leave && m.Holder != OneCall)
		return !asks || p == Undo || p == KeepClaim && r.Panicked
	},
	"what an earlier attempt began to undo goes on": func(m Mode, r Run, p Plan) bool {
		asks := r.Undoing && !r.Panicked && !r.NotRun && r.Undone == NotBegun && m.Hold != Bypassed && !(r.Leave && m.Holder != OneCall)
		return !asks || p == Undo
	},
	"a permanent error undoes, unless no failure is kept": func(m Mode, r Run, p Plan) bool {
		if p == UndoOpenly {
			return r.Permanent && r.Failed
		}
		return p != Undo || r.Undoing || r.Stopped || r.Permanent && !r.KeepsNoFailures
	},
	"a permanent error is not released before that": func(m Mode, r Run, p Plan) bool {
		asks := r.Permanent && r.Failed && !r.KeepsNoFailures && !r.Panicked && r.Undone == NotBegun
		return !asks || p != Release && p != Refund && p != KeepClaim
	},
	"without a record a permanent error undoes openly": func(m Mode, r Run, p Plan) bool {
		asks := m.Hold == Bypassed && r.Permanent && r.Failed && !r.Panicked && !r.NotRun && r.Undone == NotBegun
		return !asks || p == UndoOpenly
	},
	"an attempt is refunded only for an error that says so, and for each that does": func(m Mode, r Run, p Plan) bool {
		if p == Release {
			return !r.Retryable || r.Panicked || r.Undone == SomeUndone
		}
		return p != Refund || r.Retryable && !r.Panicked && r.Undone == NotBegun
	},
	"a panic frees the key, if nothing speaks against it": func(m Mode, r Run, p Plan) bool {
		free := r.Panicked && !r.NotRun && !r.Unacknowledged && !r.Undoing && !r.Stopped && !r.Leave && r.Undone == NotBegun && m.Hold != Bypassed
		return !free || p == Release
	},
}

func TestSettlePromises(t *testing.T) {
	for name, holds := range promises {
		t.Run(name, func(t *testing.T) {
			everyRun(func(m Mode, r Run) {
				if p := m.Settle(r); !holds(m, r, p) && !t.Failed() {
					t.Errorf("%s leads to plan %d", fmt.Sprintf("%+v, %+v", m, r), p)
				}
			})
		})
	}
}
