//go:build !race

package idempotent

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
)

// lateKeys refuse the keys of all callers but the first. By the Retention alone they
// would not be late.
var lateKeys = Config{RefuseLate: true, RetentionBefore: RetentionBefore{Retention: time.Hour, Until: exploreStart}}

func (c Config) with(set func(*Config)) Config {
	set(&c)
	return c
}

// lateScenarios are those in which all callers but the first come late. They find what
// the first has left when it was killed, released its record, or was lost on the way.
var lateScenarios = []scenario{
	{"late, no trouble", effects, lateKeys, []func(int) error{succeeds, succeeds}, othersLate, 0, 0},
	{"late", effects, lateKeys, []func(int) error{succeeds, succeeds}, othersLate, 1, 1},
	{"late, two faults", effects, lateKeys, []func(int) error{succeeds, succeeds}, othersLate, 2, 0},
	{"late, two of them", effects, lateKeys, []func(int) error{fails, succeeds, succeeds}, othersLate, 0, 1},
	{"late, behind a refund", effects, lateKeys, []func(int) error{refunded, succeeds}, othersLate, 2, 1},
	{"late, never run again", effects, lateKeys.with(func(c *Config) { c.MaxAttempts = 1 }), []func(int) error{succeeds, succeeds}, othersLate, 1, 1},
	{"late, waiting", effects, lateKeys.with(func(c *Config) { c.Wait = 5 * time.Minute }), []func(int) error{fails, succeeds}, othersLate, 1, 0},
	{"late, failing open", commits, lateKeys.with(func(c *Config) { c.OnStoreError = FailOpen }), []func(int) error{succeeds, succeeds}, othersLate, 1, 1},
	{"late, optimistic", commits, lateKeys.with(func(c *Config) { c.Optimistic = true }), []func(int) error{succeeds, succeeds}, othersLate, 2, 0},
	{"late, saga", saga, lateKeys, []func(int) error{rejects, succeeds}, othersLate, 1, 0},
}

// exploreStart is when every bubble begins.
var exploreStart = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// issued returns when the key of a caller was made.
func (s *scenario) issued(caller int) time.Time {
	if s.first == othersLate && caller > 0 {
		return exploreStart.Add(-2 * time.Hour)
	}
	return time.Time{}
}

// judgeLate compares a run with what is promised of late keys: without a record, nothing
// runs. A run that took a record over is no first attempt, and one without a claim has
// none.
func (s *scenario) judgeLate(ctx context.Context, caller int) string {
	claim, _ := FromContext(ctx)
	if s.issued(caller).IsZero() || claim.Attempt > 1 {
		return ""
	}
	return fmt.Sprintf("%c has a late key, and runs as attempt %d", 'A'+caller, claim.Attempt)
}

// unexplored are the fields of Config that no scenario sets, and why none has to.
var unexplored = map[string]string{
	"Ahead":            "a number of package handlers: the scenarios that claim ahead are played by adapter.Turn",
	"CacheEntries":     "each caller is a process of its own, with one call",
	"ClockSkew":        "all callers have one clock, and the default",
	"Codec":            "it decides nothing",
	"Lease":            "set for all by scenario.executor",
	"Margin":           "of package handlers",
	"Observer":         "set for all by scenario.run",
	"OnMissingKey":     "all calls have a key",
	"Payloads":         "no result is so large",
	"ReleasePermanent": "a failure is then one without a class, as that of fails",
	"Reserve":          "no invocation ends: the default",
	"Retention":        "played from testdata, where callers begin after it",
	"Sealer":           "it decides nothing",
	"shared":           "it sets ReleasePermanent, and refuses the rest",
}

// Whoever adds a field either explores it or states here why not.
func TestScenariosUseEveryFieldOfConfig(t *testing.T) {
	config := reflect.TypeFor[Config]()
	names := map[string]bool{}
	for i := range config.NumField() {
		name := config.Field(i).Name
		names[name] = true
		used := false
		for _, s := range scenarios {
			used = used || !reflect.ValueOf(s.config).Field(i).IsZero()
		}
		check.Differ(t, used, unexplored[name] != "", name, "is either used by a scenario or in the list of those that are not")
	}
	for name := range unexplored {
		check.True(t, names[name], name, "is no field of Config")
	}
}
