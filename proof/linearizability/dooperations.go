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

// doOperations returns the history of Do for the checker.
func doOperations(h *history, all []*invocation) []porcupine.Operation {
	var ops []porcupine.Operation
	for _, i := range all {
		seen, err := i.seen(h.claimOf(i), h.remembers())
		if err != nil {
			h.problem("%v", err)
		}
		ops = append(ops, seen...)
		ops = append(ops, h.unseen(i, seen)...)
	}
	last := h.now()
	return append(ops, operation(endClient, doing{kind: doEnd}, nil, last, h.now()))
}

// claimOf returns the owner token of the last claim of an invocation: the one under
// which its handler ran.
func (h *history) claimOf(i *invocation) (last string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.requests {
		if k := hidden(o.request); o.invocation == i && (k == doCreate || k == doTakeOver) {
			last = o.owner()
		}
	}
	return last
}

// seen returns the operations that the caller and the handler of an invocation know of.
func (i *invocation) seen(who string, remembers bool) ([]porcupine.Operation, error) {
	var ops []porcupine.Operation
	add := func(d doing, call, ret int64) {
		d.who = who
		ops = append(ops, operation(i.client, d, nil, call, ret))
	}
	settles := i.call
	if i.ran {
		settles = i.ended
		if i.resumes && i.attempt < 2 {
			return ops, fmt.Errorf("a resumer runs as attempt %d", i.attempt)
		}
		add(doing{
			kind: doRun, attempt: i.attempt, at: i.startedAt.UnixMilli(),
			until: i.began.Add(i.lease).Truncate(time.Millisecond).UnixMilli(),
		}, i.call, i.started)
	}
	received := i.value
	if i.err != nil {
		received = i.err.Error()
	}
	running, conflicts := errors.AsType[*idempotent.InProgressError](i.err)
	store, fails := errors.AsType[*idempotent.StoreError](i.err)
	switch {
	case i.resumes && (i.outcome == idempotent.OutcomeReplayed || i.outcome == idempotent.OutcomeLeaseLost && !errors.Is(i.err, idempotent.ErrLeaseLost)):
		add(doing{kind: doFind}, settles, i.ret)
	case i.resumes && !i.ran && (i.outcome == "" || i.outcome == idempotent.OutcomeNotRun): // there is nothing to resume, or no time
	case i.err == nil && received == i.result, i.ran && i.outcome == idempotent.OutcomeFailed && received == i.result:
		add(doing{kind: doRecord, answer: received}, settles, i.ret)
	case i.err == nil, errors.Is(i.err, idempotent.ErrReplayed):
		add(doing{kind: doReplay, answer: received}, settles, i.ret)
	case errors.Is(i.err, idempotent.ErrLeaseLost):
		add(doing{kind: doLose}, settles, i.ret)
	case conflicts && !i.ran:
		if until := running.Until; !until.IsZero() && until.Before(i.began.Add(-doSkew).Truncate(time.Millisecond)) {
			return ops, fmt.Errorf("a call at %v met a conflict until %v", i.began, until)
		}
		add(doing{kind: doConflict}, settles, i.ret)
	case i.ran && (i.outcome == idempotent.OutcomeReleased || i.outcome == idempotent.OutcomeTimedOut):
		add(doing{kind: doRelease, keeps: remembers && !i.refunded}, settles, i.ret)
	case i.ran && i.outcome == idempotent.OutcomeUnknown:
	case fails && store.Executed == i.ran:
	default:
		return ops, fmt.Errorf("ran %v, outcome %v: %q, %v", i.ran, i.outcome, i.value, i.err)
	}
	return ops, nil
}

// unseen returns the requests of an invocation that may have been applied beside
// those with an answer: unanswered ones, and extra copies.
func (h *history) unseen(i *invocation, seen []porcupine.Operation) []porcupine.Operation {
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
		// that settles it. A release before the handler belonged to an earlier claim.
		if last := len(copies) - 1; explained && last >= 0 && (group[0] != doRelease || copies[last].call > i.ended) {
			copies = copies[:last]
		}
		for _, o := range copies {
			ops = append(ops, operation(copyClient, o.hidden(), nil, o.call, 0))
		}
	}
	return ops
}

// hidden returns the effect of a request that has no answer.
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

// owner returns the owner token that a request sets or, if it sets none, has.
func (o *op) owner() string { return cmp.Or(o.change.Owner, o.request.record.Owner, o.fence.Owner) }

func (o *op) hidden() doing {
	d := doing{kind: hidden(o.request), who: o.owner(), at: o.began.UnixMilli()}
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
