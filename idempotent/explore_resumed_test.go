//go:build !race

package idempotent

import (
	"context"
	"errors"
	"fmt"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/ids"
	"github.com/lambda-once/once/idempotent/internal/options"
)

// resumedScenarios are those in which the first caller alone is a client. The others read
// its record, and take over what it has left behind. Their reads and writes are lost,
// delayed and doubled, and they are killed, like those of any other.
var resumedScenarios = []scenario{
	{"resumed, no trouble", effects, Config{Resume: true}, []func(int) error{succeeds, succeeds}, othersResume, 0, 0},
	{"resumed", effects, Config{Resume: true}, []func(int) error{succeeds, succeeds}, othersResume, 1, 1},
	{"resumed, two faults", effects, Config{Resume: true}, []func(int) error{fails, succeeds}, othersResume, 2, 0},
	{"resumed, by two", effects, Config{Resume: true}, []func(int) error{succeeds, fails, succeeds}, othersResume, 0, 1},
	{"resumed, steps", stepwise, Config{Resume: true}, []func(int) error{fails, succeeds}, othersResume, 1, 1},
	{"resumed, saga", saga, Config{Resume: true}, []func(int) error{rejects, succeeds}, othersResume, 1, 0},
	{"resumed, saga, lapses", saga, Config{Resume: true}, []func(int) error{rejects, succeeds}, othersResume, 0, 1},
	{"resumed, transaction", pays, Config{Resume: true}, []func(int) error{succeeds, succeeds}, othersResume, 1, 0},
	{"resumed, failing open", commits, Config{Resume: true, OnStoreError: FailOpen}, []func(int) error{succeeds, succeeds}, othersResume, 1, 1},
	{"resumed, never run again", effects, Config{Resume: true, MaxAttempts: 1}, []func(int) error{succeeds, succeeds}, othersResume, 1, 1},
	{"resumed, twice at most", effects, Config{Resume: true, MaxAttempts: 2}, []func(int) error{fails, succeeds}, othersResume, 1, 1},
	{"resumed, forgotten", effects, Config{Resume: true, ProviderMemory: forgetsLater}, []func(int) error{fails, succeeds}, othersResume, 0, 2},
}

var errNothingLeft = errors.New("nothing was left behind")

// call calls as s.key says. A request is stored only of a wrapped handler.
func (s *scenario) call(ctx context.Context, x *Executor, caller int, fn func(context.Context) (string, error)) (string, error) {
	if !s.config.Resume {
		return Do(ctx, x, s.key(caller), fn)
	}
	key := func(string) (Key, error) { return s.key(caller), nil }
	return Wrap(x, key, func(ctx context.Context, _ string) (string, error) { return fn(ctx) })(ctx, "the request")
}

func (s *scenario) isResumer(caller int) bool {
	return s.first == othersResume && caller > 0 && caller < len(s.callers)
}

// judgeResumed compares a run with what is promised of a resumer: it runs under a lease
// that it took over, and so never beside a live owner.
func (s *scenario) judgeResumed(ctx context.Context, caller int) string {
	claim, _ := FromContext(ctx)
	if !s.isResumer(caller) || claim.Attempt > 1 {
		return ""
	}
	return fmt.Sprintf("%c resumes, and runs as attempt %d", 'A'+caller, claim.Attempt)
}

// resumed returns the context in which a caller resumes what it reads.
func (s *scenario) resumed(ctx context.Context, l line) (context.Context, error) {
	if !s.isResumer(l.caller) {
		return ctx, nil
	}
	read, err := l.Get(ctx, ids.RecordID("op", "", "k"))
	switch {
	case err != nil:
		return nil, err
	case read.Status != driver.InProgress:
		return nil, errNothingLeft
	case len(read.Request) == 0:
		l.net.breaks("a record in progress has no request")
	}
	return options.With(ctx, &options.Options{Resumed: &read}), nil
}
