//go:build !race

package idempotent

import "time"

// readFirstScenarios are those in which calls read before they claim: what a
// read has seen may have changed when the claim arrives, and a read is lost,
// delayed and not sent like any other call.
var readFirstScenarios = []scenario{
	{"read first, no trouble", effects, Config{ReadFirst: true}, []func(int) error{succeeds, succeeds}, asConfigured, 0, 0},
	{"read first", effects, Config{ReadFirst: true}, []func(int) error{succeeds, succeeds}, asConfigured, 1, 0},
	{"read first, lapses", effects, Config{ReadFirst: true}, []func(int) error{succeeds, fails}, asConfigured, 0, 2},
	{"read first, alone", effects, Config{ReadFirst: true}, []func(int) error{succeeds}, asConfigured, 2, 1},
	{"read first, never run again", effects, Config{ReadFirst: true, MaxAttempts: 1}, []func(int) error{succeeds, succeeds}, asConfigured, 1, 1},
	{"read first, waiting", effects, Config{ReadFirst: true, Wait: 5 * time.Minute}, []func(int) error{fails, succeeds}, asConfigured, 1, 0},
	{"read first, failing open", commits, Config{ReadFirst: true, OnStoreError: FailOpen}, []func(int) error{succeeds, succeeds}, asConfigured, 1, 1},
	{"read first, saga", saga, Config{ReadFirst: true}, []func(int) error{rejects, succeeds}, asConfigured, 0, 1},
	{"read first, optimistic", commits, Config{ReadFirst: true, Optimistic: true}, []func(int) error{succeeds, succeeds}, asConfigured, 2, 0},
	{"read first, optimistic beside a claim", commits, Config{ReadFirst: true, Optimistic: true}, []func(int) error{fails, succeeds}, claims, 1, 1},
}
