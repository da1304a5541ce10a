//go:build !race

package idempotent

import (
	"context"
	"errors"
	"fmt"

	"github.com/lambda-once/once/idempotent/internal/options"
)

// executionScenarios are those in which a durable execution enters its record
// again. Its invocations may run at once: one was frozen, and has a successor.
// They share the fence.
var executionScenarios = []scenario{
	{"execution, no trouble", recorded, Config{}, []func(int) error{suspends, succeeds, succeeds}, executes, 0, 0},
	{"execution, suspended", recorded, Config{}, []func(int) error{suspends, succeeds, succeeds}, executes, 1, 0},
	{"execution, suspended, lapses", recorded, Config{}, []func(int) error{suspends, succeeds, succeeds}, executes, 0, 1},
	{"execution, thawed", recorded, Config{}, []func(int) error{succeeds, succeeds}, executes, 1, 1},
	{"execution, thawed, beside another", recorded, Config{}, []func(int) error{succeeds, succeeds, fails}, executes, 1, 0},
	{"execution, two faults", recorded, Config{}, []func(int) error{suspends, succeeds}, executes, 2, 0},
	{"execution, read first", recorded, Config{ReadFirst: true}, []func(int) error{suspends, succeeds, succeeds}, executes, 0, 1},
}

var errSuspended = errors.New("suspended")

func suspends(int) error { return errSuspended }

// recorded is a handler with one step, whose effect and checkpoint are one: a
// later invocation of the execution replays it.
func recorded(ctx context.Context, r *run) error {
	if r.line.net == nil || r.line.caller > 1 {
		return effects(ctx, r)
	}
	claim, _ := FromContext(ctx)
	err := r.works("works", func() {
		if !r.world.recorded {
			r.world.recorded = true
			r.world.effects = append(r.world.effects, effect{attempt: claim.Attempt, success: true})
		}
	})
	if err != nil {
		return err
	}
	return r.err
}

// context returns the context of a caller.
func (s *scenario) context(ctx context.Context, caller int) context.Context {
	if s.first != executes || caller > 1 {
		return ctx
	}
	return options.With(ctx, &options.Options{Execution: &options.Execution{
		ID: []string{"execution"}, Until: exploreStart.Add(exploreLease),
		Decide: func(err error) string {
			if err == nil {
				return string(OutcomeExecuted)
			}
			return string(OutcomeSuspended)
		},
	}})
}

// value is what a run returns. An execution replays its result.
func (s *scenario) value(caller, run int) string {
	if s.first == executes && caller <= 1 {
		return "E"
	}
	return fmt.Sprintf("%c%d", 'A'+caller, run)
}
