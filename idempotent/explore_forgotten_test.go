//go:build !race

package idempotent

import (
	"context"
	"fmt"
	"time"
)

// A provider that forgets at once forgets within a lease. One that forgets soon lets nobody
// take over after a lapse, and what was released is taken over before. The last one forgets
// after two lapses.
const (
	forgetsAtOnce = 20 * time.Second
	forgetsSoon   = 50 * time.Second
	forgetsLater  = 90 * time.Second
)

// forgottenScenarios are those in which calls come before and after a provider has
// forgotten what the first of them has sent.
var forgottenScenarios = []scenario{
	{"forgotten, no trouble", effects, Config{ProviderMemory: forgetsSoon}, []func(int) error{succeeds, succeeds}, asConfigured, 0, 0},
	{"forgotten", effects, Config{ProviderMemory: forgetsSoon}, []func(int) error{succeeds, succeeds}, asConfigured, 1, 1},
	{"forgotten, two faults", effects, Config{ProviderMemory: forgetsSoon}, []func(int) error{fails, succeeds}, asConfigured, 2, 0},
	{"forgotten, two lapses", effects, Config{ProviderMemory: forgetsLater}, []func(int) error{fails, succeeds}, asConfigured, 0, 2},
	{"forgotten, cut off", effects, Config{ProviderMemory: forgetsAtOnce}, []func(int) error{succeeds, succeeds}, asConfigured, 0, 2},
	{"forgotten, three callers", effects, Config{ProviderMemory: forgetsSoon}, []func(int) error{fails, succeeds, succeeds}, asConfigured, 0, 1},
	{"forgotten, behind a refund", effects, Config{ProviderMemory: forgetsSoon}, []func(int) error{refunded, succeeds}, asConfigured, 1, 1},
	{"forgotten, twice at most", effects, Config{ProviderMemory: forgetsLater, MaxAttempts: 2}, []func(int) error{fails, succeeds}, asConfigured, 1, 1},
	{"forgotten, waiting", effects, Config{ProviderMemory: forgetsSoon, Wait: 5 * time.Minute}, []func(int) error{fails, succeeds}, asConfigured, 1, 0},
	{"forgotten, saga", saga, Config{ProviderMemory: forgetsSoon}, []func(int) error{rejects, succeeds}, asConfigured, 1, 0},
	{"forgotten, transaction", pays, Config{ProviderMemory: forgetsSoon}, []func(int) error{succeeds, succeeds}, asConfigured, 1, 1},
}

// remembered runs the handler, and compares the run with what is promised of
// ProviderMemory: it begins and ends while a provider remembers the first one, whatever
// the record says of when that began.
func (s *scenario) remembered(ctx context.Context, r *run, breaks func(string)) error {
	memory := s.config.ProviderMemory
	if memory == 0 {
		return s.handler(ctx, r)
	}
	who, now := 'A'+rune(r.line.caller), time.Now()
	if _, refunded := r.err.(*retryableError); !refunded && r.world.sent.IsZero() {
		r.world.sent = now
	}
	first := r.world.sent
	claim, _ := FromContext(ctx)
	switch {
	case claim.Began.IsZero(), !first.IsZero() && claim.Began.After(first):
		breaks(fmt.Sprintf("%c runs, and its record began at %v, after the first run at %v", who, claim.Began, first))
	case !first.IsZero() && !now.Before(first.Add(memory)):
		breaks(fmt.Sprintf("%c begins %v after the first run", who, now.Sub(first)))
	}
	err := s.handler(ctx, r)
	if over := time.Since(first); !first.IsZero() && over >= memory && ctx.Err() == nil {
		breaks(fmt.Sprintf("%c is not cut off, %v after the first run", who, over))
	}
	return err
}
