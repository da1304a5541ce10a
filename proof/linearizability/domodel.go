package linearizability

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// doState is the state of one key in the model of Do. It is comparable.
type doState struct {
	Owner   string // the token of the claim that may run, or ""
	Attempt int64  // of the owner or, after it, the last; 0 if there is no record
	Until   int64  // the earliest end of the owner's lease, in Unix milliseconds
	Answer  string // that all callers receive, or ""

	Over bool
}

// doKind is an action of a call of Do on its key. Those that the caller cannot
// see are in brackets: they may happen at any time after the request, or never.
type doKind uint8

const (
	doEnd      doKind = iota
	doRun             // the handler starts
	doRecord          // the handler's result becomes the answer
	doRelease         // the handler's error frees the key
	doReplay          // the caller receives the answer
	doFind            // a resumer reports that there is an answer
	doConflict        // the caller is told that another runs
	doLose            // the caller is told that another has replaced it
	doCreate          // [a copy of the claim]
	doTakeOver        // [a copy of the takeover]
	doFinish          // [a copy of the completion]
	doForget          // [a copy of the release, which deletes]
	doKeepFree        // [a copy of the release, which keeps]
)

func (k doKind) String() string {
	return [...]string{"end", "run", "record", "release", "replay", "find", "conflict", "lose",
		"[create]", "[take over]", "[finish]", "[delete]", "[keep]"}[k]
}

// doing is one thing that an invocation does.
type doing struct {
	kind    doKind
	who     string // the token of the claim: an invocation may make several
	attempt int64  // doRun; of doTakeOver the one to take over
	at      int64  // the latest time that the invocation took for now
	until   int64  // the earliest end of the lease, if it claims
	answer  string // doRecord, doReplay, doFinish
	keeps   bool   // doRelease; also the record of a first attempt
}

func (d doing) String() string {
	text := fmt.Sprintf("%s: %v", d.who, d.kind)
	if d.attempt > 0 {
		text += fmt.Sprintf(" attempt %d", d.attempt)
	}
	if d.answer != "" {
		text += " " + d.answer
	}
	return text
}

// doModel has the promises of package idempotent, as porcupine understands them.
func doModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return doState{} },
		Step: func(s, in, _ any) (bool, any) {
			ok, next := promises(s.(doState), in.(doing))
			return ok, next
		},
		Hash:              hashOf[doState],
		DescribeOperation: func(in, _ any) string { return in.(doing).String() },
		DescribeState:     func(s any) string { return fmt.Sprintf("%+v", s) },
	}
}

// promises reports whether d may happen in state s, and returns the state after
// that.
func promises(s doState, d doing) (bool, doState) {
	next := s
	mine := s.Owner == d.who
	free := s.Owner == "" && s.Answer == ""
	lapsed := s.Owner != "" && !mine && s.Until+doSkew.Milliseconds() < d.at
	claimed := doState{Owner: d.who, Attempt: s.Attempt + 1, Until: d.until, Over: s.Over}
	switch d.kind {
	case doEnd:
		next.Over = true
		return true, next
	case doRun:
		// One run at a time; the next one only after a release, or a lapsed lease.
		return s.Answer == "" && (free || lapsed) && d.attempt == claimed.Attempt, claimed
	case doRecord:
		// The fence. A run whose key has no owner any more may still record.
		return mine || free || s.Answer == d.answer, answered(s, d.answer)
	case doRelease:
		// After a lost answer, a different owner may have come in between.
		return s.Answer == "", freed(s, d, s.Attempt == 1 && !d.keeps)
	case doReplay:
		return s.Answer == d.answer, s
	case doFind:
		return s.Answer != "", s
	case doConflict, doLose:
		return s.Owner != "" && !mine, s
	case doCreate:
		if free && s.Attempt == 0 {
			next = claimed
		}
	case doTakeOver:
		if (free || lapsed) && s.Attempt > 0 && s.Attempt == d.attempt {
			next = claimed
		}
	case doFinish:
		if mine || free {
			next = answered(s, d.answer)
		}
	case doForget, doKeepFree:
		next = freed(s, d, d.kind == doForget)
	}
	return s.Over || next != s, next // as in the model of the store
}

func answered(s doState, answer string) doState {
	return doState{Answer: answer, Attempt: s.Attempt, Over: s.Over}
}

// freed returns the state after a release by d.who.
func freed(s doState, d doing, forget bool) doState {
	if s.Owner != d.who {
		return s
	}
	s.Owner, s.Until = "", 0
	if forget {
		s.Attempt = 0
	}
	return s
}
