//go:build !race

// The race detector would take minutes for the many small runs, in each of which
// only one goroutine at a time runs.

package idempotent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/options"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

const exploreLease = 30 * time.Second

// unlimited are the faults and lapses of a schedule that is played from a file.
const unlimited = 1000

// A scenario is explored exhaustively: every order of the callers' writes and
// effects, with every placement of its faults (an answer lost, a write not
// sent, delayed or duplicated, a caller killed before or after a step) and of
// its lapses (a third of a lease, or all of it, passes while everybody stands
// still). Without faults, a single lapse may also leave one caller resting until
// all others have their answers: it wakes when its successors have lived their
// whole lives.
type scenario struct {
	name    string
	handler handler
	config  Config
	callers []func(run int) error // what each caller's handler returns
	first   firstCall
	faults  int
	lapses  int
}

// firstCall is what is special about the first caller.
type firstCall uint8

const (
	asConfigured firstCall = iota
	claims                 // it claims where the config is optimistic
	// claimsAhead: it claims before its turn, which never comes, and calls again.
	claimsAhead
	// executes: the first two are invocations of one durable execution.
	executes
	differs      // in its payload; the others begin after its retention
	othersLate   // it alone has a key that is not late
	othersResume // it alone is a client: the others finish what it has left
)

var errNoTurn = errors.New("an earlier record has failed")

func succeeds(int) error { return nil }

func refunded(int) error { return Retryable(errors.New("nothing was done")) }

func fails(int) error { return errors.New("try again") }

func rejects(int) error { return Permanent(errors.New("no")) }

var scenarios = slices.Concat([]scenario{
	{"two callers, no trouble", effects, Config{}, []func(int) error{succeeds, succeeds}, asConfigured, 0, 0},
	{"two callers", effects, Config{}, []func(int) error{succeeds, succeeds}, asConfigured, 1, 1},
	{"two callers, two faults", effects, Config{}, []func(int) error{succeeds, succeeds}, asConfigured, 2, 0},
	{"two callers, two lapses", effects, Config{}, []func(int) error{succeeds, succeeds}, asConfigured, 0, 2},
	{"one caller, three faults", effects, Config{}, []func(int) error{succeeds}, asConfigured, 3, 1},
	{"a successor fails", effects, Config{}, []func(int) error{succeeds, fails}, asConfigured, 1, 1},
	{"a successor is refused for good", effects, Config{}, []func(int) error{succeeds, rejects}, asConfigured, 1, 1},
	{"three callers", effects, Config{}, []func(int) error{succeeds, fails, succeeds}, asConfigured, 0, 1},
	{"never run again", effects, Config{MaxAttempts: 1}, []func(int) error{succeeds, succeeds}, asConfigured, 1, 1},
	{"never run again, two lapses", effects, Config{MaxAttempts: 1}, []func(int) error{succeeds, succeeds, succeeds}, asConfigured, 0, 2},
	{"never run again, failing", effects, Config{MaxAttempts: 1}, []func(int) error{fails, succeeds}, asConfigured, 1, 1},
	{"twice at most", effects, Config{MaxAttempts: 2}, []func(int) error{fails, succeeds, succeeds}, asConfigured, 0, 1},
	{"twice at most, faults", effects, Config{MaxAttempts: 2}, []func(int) error{fails, succeeds}, asConfigured, 1, 1},
	{"refunded", effects, Config{MaxAttempts: 1}, []func(int) error{refunded, succeeds}, asConfigured, 1, 1},
	{"waiting", effects, Config{Wait: 5 * time.Minute}, []func(int) error{succeeds, succeeds}, asConfigured, 1, 0},
	{"waiting for a failure", effects, Config{Wait: 5 * time.Minute}, []func(int) error{fails, succeeds}, asConfigured, 0, 1},
}, moreScenarios, readFirstScenarios, executionScenarios, lateScenarios, forgottenScenarios, resumedScenarios)

func TestExploreSchedules(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s, want := s, schedules[s.name].full
			if testing.Short() {
				s, want = s.short(), schedules[s.name].short
			}
			var dfs schedule
			runs := 0
			for {
				runs++
				synctest.Test(t, func(t *testing.T) {
					s.run(t, func(_ *network, options []option) int { return dfs.pick(len(options)) })
				})
				if t.Failed() || !dfs.next() {
					break
				}
			}
			t.Logf("%d schedules with %d faults and %d lapses", runs, s.faults, s.lapses)
			if runs != want && !t.Failed() {
				t.Errorf("%d schedules, and not %d: the protocol has changed", runs, want)
			}
		})
	}
}

// short returns the scenario with one fault or one lapse at most.
func (s scenario) short() scenario {
	s.faults = min(s.faults, 1)
	s.lapses = min(s.lapses, 1-s.faults)
	return s
}

// schedule enumerates all sequences of choices, depth first.
type schedule struct {
	choices, width []int
	pos            int
}

func (s *schedule) pick(n int) int {
	if s.pos == len(s.choices) {
		s.choices, s.width = append(s.choices, 0), append(s.width, n)
	}
	if s.width[s.pos] != n {
		panic(fmt.Sprintf("the schedule is not repeatable: %d options at step %d, %d before", n, s.pos, s.width[s.pos]))
	}
	s.pos++
	return s.choices[s.pos-1]
}

func (s *schedule) next() bool {
	s.pos = 0
	for i := len(s.choices) - 1; i >= 0; i-- {
		if s.choices[i]+1 < s.width[i] {
			s.choices[i]++
			s.choices, s.width = s.choices[:i+1], s.width[:i+1]
			return true
		}
	}
	return false
}

// quiet reports whether every caller has its answer, or was killed, and every
// copy has landed.
func (n *network) quiet(results []result) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, r := range results {
		if !r.done && !n.killed[i] {
			return false
		}
	}
	return len(n.copies) == 0
}

// close answers those who were killed, and all that they still ask.
func (n *network) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for _, m := range append(n.pending, n.stuck...) {
		m.reply <- answer{err: context.Canceled}
	}
}

// result is what one caller saw.
type result struct {
	value   string
	err     error
	outcome Outcome
	done    bool
}

type observes func(Event)

func (o observes) Observe(_ context.Context, e Event) { o(e) }

// run plays a schedule: pick chooses among the options of each moment. It
// returns the network and the results as they were when all was quiet.
func (s *scenario) run(t *testing.T, pick func(*network, []option) int) (*network, []result) {
	net := &network{store: ledger{memory.New(10)}, killed: map[int]bool{}, cut: map[int]bool{}, resting: nobody, undoable: map[string]bool{}, owners: map[string]int{}, resumes: s.first == othersResume}
	results := make([]result, len(s.callers))
	var w witness
	for i, script := range s.callers {
		l := line{net, i}
		x := s.executor(t, l)
		x.config.Optimistic = x.config.Optimistic && !(s.first == claims && i == 0)
		var outcome Outcome
		x.config.Observer = observes(func(e Event) { outcome = e.Outcome })
		runs := 0
		call := func(ctx context.Context) (string, error) {
			return s.call(ctx, x, i, func(ctx context.Context) (string, error) {
				runs++
				value := s.value(i, runs)
				if wrong := cmp.Or(s.judgeLate(ctx, i), s.judgeResumed(ctx, i)); wrong != "" {
					net.breaks(wrong)
				}
				return value, s.remembered(ctx, &run{l, &w, value, script(runs)}, net.breaks)
			})
		}
		go func() {
			if s.first == claimsAhead && i == 0 {
				_, _ = call(options.With(t.Context(), &options.Options{Turn: func(context.Context) error {
					return cmp.Or((&run{line: l}).works("waits for its turn", func() {}), errNoTurn)
				}}))
			}
			if s.first == differs && i > 0 {
				time.Sleep(4 * time.Minute)
			}
			ctx, err := s.resumed(s.context(t.Context(), i), l)
			value := ""
			if err == nil {
				value, err = call(ctx)
			}
			net.mu.Lock()
			defer net.mu.Unlock()
			results[i] = result{value, err, outcome, true}
			delete(net.cut, i)
		}()
	}

	var trace []string
	faults, lapses, idle := s.faults, s.lapses, 0
	for {
		synctest.Wait()
		if net.quiet(results) {
			break
		}
		net.wake(results)
		options := net.options(faults, lapses, s.rests())
		if len(options) == 0 {
			// Callers pause between two tries, and have little time for each.
			if idle++; idle > 100_000 {
				t.Fatalf("the callers do not come to an end\n%s", strings.Join(trace, "\n"))
			}
			time.Sleep(5 * time.Millisecond)
			continue
		}
		o := options[pick(net, options)]
		trace = append(trace, o.name)
		if o.fault {
			faults--
		}
		if o.lapse {
			lapses--
		}
		o.do()
	}

	net.mu.Lock()
	seen := slices.Clone(results) // those who were killed may end later
	net.final = net.recorded(t)
	net.mu.Unlock()
	s.judge(t, net, seen, &w, func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s\nafter:\n  %s\n%+v\nresults: %+v", fmt.Sprintf(format, args...), strings.Join(trace, "\n  "), w, seen)
	})

	// Let the killed ones go, for the bubble to end.
	net.close()
	time.Sleep(time.Minute)
	return net, seen
}

// key returns the key of a caller.
func (s *scenario) key(caller int) Key {
	if s.first == differs && caller == 0 {
		return Key{ID: "k", Payload: 2}
	}
	return Key{ID: "k", Payload: 1, Issued: s.issued(caller)}
}

// rests reports whether callers may rest. Everywhere it would make ten times as
// many schedules.
func (s *scenario) rests() bool { return s.faults == 0 && s.lapses == 1 || s.faults == unlimited }

func (s *scenario) executor(t *testing.T, store driver.Store) *Executor {
	config := s.config
	config.Lease = exploreLease
	x, err := New("op", store, &config)
	check.Must(t, err)
	x.spread = func(d time.Duration) time.Duration { return d } // schedules are repeated
	return x
}

// judge compares what happened with what the protocol promises.
func (s *scenario) judge(t *testing.T, net *network, results []result, w *witness, fail func(string, ...any)) {
	for _, what := range net.broken {
		fail("%s", what)
	}
	successes, attempts := 0, map[int64]bool{}
	for _, e := range w.effects {
		if e.success {
			successes++
		}
		if s.config.MaxAttempts > 0 && attempts[e.attempt] {
			fail("two runs of one record have the attempt %d", e.attempt)
		}
		attempts[e.attempt] = e.attempt > 1 || !e.refunded
	}
	if net.takeovers == 0 && successes > 1 && s.first != differs {
		fail("%d effects, although no lease was taken over", successes)
	}
	if max := s.config.MaxAttempts; max > 0 && successes > max {
		fail("%d effects with MaxAttempts %d", successes, max)
	}
	if w.nothing() && s.faults == 0 && s.lapses == 0 {
		fail("nobody ran")
	}

	// Long after everything, one more retry, by a process with a fresh view.
	time.Sleep(2*exploreLease + 10*time.Second)
	ran := false
	x := s.executor(t, net.store)
	before := len(w.commits)
	value, err := s.call(t.Context(), x, len(results), func(ctx context.Context) (string, error) {
		ran = true
		if wrong := s.judgeLate(ctx, len(results)); wrong != "" {
			fail("%s, long after", wrong)
		}
		return "retry", s.remembered(ctx, &run{line{caller: len(results)}, w, "retry", nil}, func(wrong string) { fail("%s, long after", wrong) })
	})
	s.judgeMore(net, results, w, value, err, fail)
	if s.config.Optimistic {
		ran = len(w.commits) > before // it runs, and in vain
	}
	if err != nil && !errors.Is(err, ErrOutcomeUnknown) && !errors.Is(err, ErrReplayed) && !(errors.Is(err, ErrKeyExpired) && s.first == othersLate) {
		fail("a late retry fails: %v", err)
	}
	if ran && s.config.MaxAttempts > 0 && successes >= s.config.MaxAttempts {
		fail("a late retry runs with MaxAttempts %d after %d effects", s.config.MaxAttempts, successes)
	}
	for i, r := range results {
		switch {
		case !r.done || net.killed[i]:
		case r.err == nil && (ran || err != nil || value != r.value):
			fail("%c got %q, and a late retry %q, %v (ran: %v)", 'A'+i, r.value, value, err, ran)
		case errors.Is(r.err, ErrReplayed) && !errors.Is(err, ErrReplayed):
			fail("%c got a stored failure, and a late retry %q, %v", 'A'+i, value, err)
		}
	}
}
