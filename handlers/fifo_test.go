package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// drain delivers messages, ten at most, to the handler until none is queued, and returns
// those that move to the dead-letter queue: SQS counts a receive of each message that is
// reported, and moves what was received five times, as AddQueue of package infra asks for.
// Between two deliveries, all messages become visible again.
func drain(t *testing.T, handler any, queued batch) (dead batch) {
	t.Helper()
	for receives := 0; receives < 5 && len(queued) > 0; receives++ {
		answer, err := deliver(t.Context(), handler, sqsEvent(t, queued...))
		check.Must(t, err)
		reported := reportedIDs(t, answer)
		queued = slices.DeleteFunc(queued, func(m events.SQSMessage) bool { return !slices.Contains(reported, m.MessageId) })
	}
	return queued
}

// The first of ten messages always fails.
func TestPoisonInAFIFOQueue(t *testing.T) {
	refused := errors.New("the other queue is not there")
	ten := make([]string, 10)
	for i := range ten {
		ten[i] = fmt.Sprint("g", i)
	}
	for name, test := range map[string]struct {
		groups                       []string
		retryable                    bool // the failure is not permanent
		stop                         bool
		poison                       []error // the option's results, or nil for no option
		healthy, failed, taken, dead int     // messages that ran, runs of the first, calls of the option, dead letters
	}{
		"ten groups":                     {groups: ten, healthy: 9, failed: 1, dead: 1},
		"ten groups, retryable":          {groups: ten, retryable: true, healthy: 9, failed: 5, dead: 1},
		"ten groups that stop":           {groups: ten, stop: true, failed: 1, dead: 10},
		"ten groups, Poison":             {groups: ten, poison: []error{nil}, healthy: 9, failed: 1, taken: 1},
		"one group":                      {groups: ten[:1], failed: 1, dead: 10},
		"one group, Poison":              {groups: ten[:1], poison: []error{nil}, healthy: 9, failed: 1, taken: 1},
		"one group, Poison fails twice":  {groups: ten[:1], poison: []error{refused, refused, nil}, healthy: 9, failed: 1, taken: 3},
		"one group, Poison always fails": {groups: ten[:1], poison: []error{refused, refused, refused, refused, refused}, failed: 1, taken: 5, dead: 10},
		"one group, Poison, retryable":   {groups: ten[:1], retryable: true, poison: []error{nil}, failed: 5, dead: 10},
		"groups that stop, Poison":       {groups: ten, stop: true, poison: []error{nil}, healthy: 9, failed: 1, taken: 1},
	} {
		for _, c := range []struct{ ahead, concurrency int }{{0, 0}, {-1, 0}, {0, 10}} {
			t.Run(fmt.Sprint(name, c), func(t *testing.T) {
				s, taken, o := &shop{}, 0, handlers.SQSOptions{Concurrency: c.concurrency}
				o.OnFailure, o.StopGroups = quiet, test.stop
				if test.poison != nil {
					o.Poison = func(_ context.Context, m events.SQSMessage, err error) error {
						check.Equal(t, m.MessageId, "m00")
						check.Says(t, err, errOutOfStock.Error())
						taken++
						return test.poison[taken-1]
					}
				}
				messages, ids := orders(10)
				messages[0] = message("m00", order{ID: ids[0], Never: !test.retryable, Fail: true})
				handler := handlers.SQS(newExecutor(t, memory.New(0), &idempotent.Config{Ahead: c.ahead}), orderID, place[events.SQSMessage](s), &o)
				dead := drain(t, handler, inGroups(messages, test.groups...))
				runs := s.placed()
				check.Equal(t, runs[ids[0]], test.failed)
				delete(runs, ids[0])
				check.Equal(t, len(runs), test.healthy)
				for id, n := range runs {
					check.Equal(t, n, 1, id)
				}
				check.Equal(t, taken, test.taken)
				check.Equal(t, len(dead), test.dead)
			})
		}
	}
}

// What is stored is replayed at every delivery. Everything else may end otherwise.
func TestPoisonOfAQueueReceivesStoredFailuresAlone(t *testing.T) {
	permanent := func(context.Context) error { return idempotent.Permanent(errOutOfStock) }
	unstorable := intercepted{memory.New(0), func(_ context.Context, c storeCall, call func() error) error {
		if c.change.Status != "" {
			return errors.New("no permission")
		}
		return call()
	}}
	for name, test := range map[string]struct {
		x      *idempotent.Executor
		body   string
		run    func(context.Context) error
		stored bool
	}{
		"permanent":                 {run: permanent, stored: true},
		"permanent, and not stored": {x: newExecutor(t, unstorable, nil), run: permanent},
		"permanent, and released":   {x: newExecutor(t, memory.New(0), &idempotent.Config{ReleasePermanent: true}), run: permanent},
		"permanent, without a key":  {x: newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey}), body: `{}`, run: permanent},
		"any other error":           {run: func(context.Context) error { return errOutOfStock }},
		"a body that is no JSON":    {body: `{`},
		"no key":                    {body: `{}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			for delivery := range 2 {
				taken := 0
				if test.x == nil {
					test.x = newExecutor(t, memory.New(0), nil)
				}
				handler := handlers.SQS(test.x, orderID, func(ctx context.Context, _ handlers.SQSMessage[order]) error { return test.run(ctx) },
					&handlers.SQSOptions{OnFailure: quiet, Poison: func(context.Context, events.SQSMessage, error) error { taken++; return nil }})
				m, want, report := message("m0", order{ID: "o0"}), 0, "m0"
				if test.body != "" {
					m.Body = test.body
				}
				if test.stored {
					want, report = 1, ""
				}
				reports(t, t.Context(), handler, batch{m}, report, name, delivery)
				check.Equal(t, taken, want, name, delivery)
			}
		})
	}
}
