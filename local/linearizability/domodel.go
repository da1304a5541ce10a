package linearizability

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// doState is what the model of Do knows of one key. It is comparable.
type doState struct {
	Owner   int    // the claim that may run, counted from 1, or 0
	Attempt int64  // of the owner or, after it, the last; 0 if there is no record
	Until   int64  // the earliest end of the owner's lease, in Unix milliseconds
	Answer  string // that all callers receive, or ""

	Over bool
}

func (s doState) over() bool { return s.Over }

// doKind is what a call of Do does with its key. Those that the caller cannot
// see are in brackets: they may happen at any time after the request, or never.
type doKind uint8

const (
	doEnd      doKind = iota
	doRun             // the handler starts
	doRecord          // the handler's result becomes the answer
	doRelease         // the handler's error frees the key
	doReplay          // the caller receives the answer
	doConflict        // the caller is told that another runs
	doLose            // the caller is told that another has replaced it
	doCreate          // [a copy of the claim]
	doTakeOver        // [a copy of the takeover]
	doFinish          // [a copy of the completion]
	doForget          // [a copy of the release, which deletes]
	doKeepFree        // [a copy of the release, which keeps]
)

func (k doKind) String() string {
	return [...]string{"end", "run", "record", "release", "replay", "conflict", "lose",
		"[create]", "[take over]", "[finish]", "[delete]", "[keep]"}[k]
}

// doing is one thing that an invocation does.
type doing struct {
	kind    doKind
	who     int    // the claim: an invocation may make several
	attempt int64  // doRun; of doTakeOver the one to take over
	at      int64  // the latest time that the invocation took for now
	until   int64  // the earliest end of the lease, if it claims
	answer  string // doRecord, doReplay, doFinish
}

func (d doing) String() string {
	text := fmt.Sprintf("%d: %v", d.who, d.kind)
	if d.attempt > 0 {
		text += fmt.Sprintf(" attempt %d", d.attempt)
	}
	if d.answer != "" {
		text += " " + d.answer
	}
	return text
}

// doModel is what package idempotent promises, as porcupine understands it.
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
	free := s.Owner == 0 && s.Answer == ""
	lapsed := s.Owner != 0 && !mine && s.Until+doSkew.Milliseconds() < d.at
	claimed := doState{Owner: d.who, Attempt: s.Attempt + 1, Until: d.until, Over: s.Over}
	switch d.kind {
	case doEnd:
		next.Over = true
		return true, next
	case doRun:
		// One run at a time; another only after a release, or a lapsed lease.
		return s.Answer == "" && (free || lapsed) && d.attempt == claimed.Attempt, claimed
	case doRecord:
		// The fence. A run whose key nobody owns any more may still record.
		return mine || free || s.Answer == d.answer, answered(s, d.answer)
	case doRelease:
		// After a lost answer, another owner may have come in between.
		return s.Answer == "", freed(s, d, s.Attempt == 1)
	case doReplay:
		return s.Answer == d.answer, s
	case doConflict:
		return s.Owner != 0 && !mine, s
	case doLose:
		return s.Owner != 0 && !mine, s
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
	return effective(s, next), next
}

func answered(s doState, answer string) doState {
	return doState{Answer: answer, Attempt: s.Attempt, Over: s.Over}
}

// freed returns the state after a release by d.who.
func freed(s doState, d doing, forget bool) doState {
	if s.Owner != d.who {
		return s
	}
	s.Owner, s.Until = 0, 0
	if forget {
		s.Attempt = 0
	}
	return s
}

// doOperations returns the history of Do for the checker.
func doOperations(h *history, all []*invocation) []porcupine.Operation {
	var ops []porcupine.Operation
	claims := make(map[string]int) // by owner token
	for _, i := range all {
		seen, err := i.seen(h.claimOf(i, claims))
		if err != nil {
			h.problem("%v", err)
		}
		ops = append(ops, seen...)
		ops = append(ops, h.unseen(i, seen, claims)...)
	}
	last := h.now()
	return append(ops, operation(processes+2, doing{kind: doEnd}, nil, last, h.now()))
}

// claimOf returns the number of the last claim of an invocation: the one under
// which its handler ran. It numbers the claims of a history.
func (h *history) claimOf(i *invocation, claims map[string]int) (last int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.requests {
		token := ""
		switch hidden(o.request) {
		case doCreate:
			token = o.request.record.Owner
		case doTakeOver:
			token = o.change.Owner
		}
		if o.invocation != i || token == "" {
			continue
		}
		if claims[token] == 0 {
			claims[token] = len(claims) + 1
		}
		last = claims[token]
	}
	return last
}

// seen returns what the caller and the handler of an invocation know of it.
func (i *invocation) seen(who int) ([]porcupine.Operation, error) {
	var ops []porcupine.Operation
	add := func(d doing, call, ret int64) {
		d.who = who
		ops = append(ops, operation(i.client, d, nil, call, ret))
	}
	settles := i.call
	if i.ran {
		settles = i.ended
		add(doing{
			kind: doRun, attempt: i.attempt, at: i.startedAt.UnixMilli(),
			until: i.began.Add(i.lease).Truncate(time.Millisecond).UnixMilli(),
		}, i.call, i.started)
	}
	received := i.value
	if i.err != nil {
		received = i.err.Error()
	}
	var store *idempotent.StoreError
	switch {
	case i.err == nil && received == i.result, i.ran && i.outcome == idempotent.OutcomeFailed && received == i.result:
		add(doing{kind: doRecord, answer: received}, settles, i.ret)
	case i.err == nil, errors.Is(i.err, idempotent.ErrReplayed):
		add(doing{kind: doReplay, answer: received}, settles, i.ret)
	case errors.Is(i.err, idempotent.ErrLeaseLost):
		add(doing{kind: doLose}, settles, i.ret)
	case errors.Is(i.err, idempotent.ErrInProgress) && !i.ran:
		if until := i.conflictedUntil; !until.IsZero() && until.Before(i.began.Add(-doSkew).Truncate(time.Millisecond)) {
			return ops, fmt.Errorf("a call at %v met a conflict until %v", i.began, until)
		}
		add(doing{kind: doConflict}, settles, i.ret)
	case i.ran && (i.outcome == idempotent.OutcomeReleased || i.outcome == idempotent.OutcomeTimedOut):
		add(doing{kind: doRelease}, settles, i.ret)
	case i.ran && i.outcome == idempotent.OutcomeUnknown:
	case errors.As(i.err, &store) && store.Executed == i.ran:
	default:
		return ops, fmt.Errorf("ran %v, outcome %v: %q, %v", i.ran, i.outcome, i.value, i.err)
	}
	return ops, nil
}

// unseen returns the requests of an invocation that may have been applied beside
// those behind what was seen: unanswered ones, and extra copies.
func (h *history) unseen(i *invocation, seen []porcupine.Operation, claims map[string]int) []porcupine.Operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	var ops []porcupine.Operation
	for _, group := range [][]doKind{{doRun, doCreate, doTakeOver}, {doRecord, doFinish}, {doRelease, doForget, doKeepFree}} {
		explained := slices.ContainsFunc(seen, func(o porcupine.Operation) bool { return o.Input.(doing).kind == group[0] })
		var copies []*op
		for _, o := range h.requests {
			if o.invocation == i && slices.Contains(group[1:], hidden(o.request)) {
				copies = append(copies, slices.Repeat([]*op{o}, o.applications())...)
			}
		}
		// What was seen is the latest of them: nothing is sent after an answer
		// that settles it. A release before the handler was of another claim.
		if last := len(copies) - 1; explained && last >= 0 && (group[0] != doRelease || copies[last].call > i.ended) {
			copies = copies[:last]
		}
		for _, o := range copies {
			ops = append(ops, operation(processes+1, o.hidden(claims), nil, o.call, 0))
		}
	}
	return ops
}

// hidden returns what a request does if nobody sees it.
func hidden(r request) doKind {
	switch {
	case r.kind == create && r.record.Status == driver.InProgress:
		return doCreate
	case r.kind == create, r.kind == adopt, r.kind == finish:
		return doFinish
	case r.kind == takeOver:
		return doTakeOver
	case r.kind == releaseDelete:
		return doForget
	case r.kind == releaseKeep, r.kind == releaseRefund:
		return doKeepFree
	}
	return doEnd
}

func (o *op) hidden(claims map[string]int) doing {
	token := cmp.Or(o.change.Owner, o.request.record.Owner, o.fence.Owner)
	d := doing{kind: hidden(o.request), who: claims[token], at: o.began.UnixMilli()}
	switch d.kind {
	case doCreate:
		d.until = o.request.record.Lease.UnixMilli()
	case doTakeOver:
		d.until, d.attempt = o.change.Lease.UnixMilli(), o.fence.Attempt
	case doFinish:
		d.answer = result.FindString(string(o.change.Data) + string(o.request.record.Data))
	}
	return d
}
