//go:build !race

package idempotent

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

var rewrite = flag.Bool("rewrite", false, "write the logs that the schedules in testdata have now")

// Each file of testdata is one schedule that a bug of the protocol once made go
// wrong, or a promise for one that a process sleeps through. It begins with
// comments and the lines
//
//	handler saga
//	calls rejects succeeds
//	config MaxAttempts1
//
// which name the handler, the ends of each caller's runs (A, B, …; fails/succeeds
// are those of the first run and of the later ones) and settings of Config. The log follows: the events in their order, each with the record
// that it left if it changed it, and then what each caller received. Events
// that are not listed are the first of those possible, so that a new file may
// end with the last event that matters: with -rewrite the test fills in the rest.
func TestPlayedSchedules(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	check.Must(t, err)
	check.Differ(t, len(files), 0)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			check.Must(t, err)
			head, log, _ := strings.Cut(string(text), "\n\n")
			s := parseScenario(t, head)
			p := player{t: t, want: strings.Split(strings.TrimSpace(log), "\n")}
			synctest.Test(t, func(t *testing.T) {
				net, results := s.run(t, p.pick)
				p.end(net, results)
			})
			got := strings.Join(p.log, "\n") + "\n"
			if *rewrite {
				check.Must(t, os.WriteFile(file, []byte(head+"\n\n"+got), 0o644))
			} else if got != log {
				t.Errorf("it is now:\n%s\nand was:\n%s", got, log)
			}
		})
	}
}

func parseScenario(t *testing.T, head string) *scenario {
	s := &scenario{faults: unlimited, lapses: unlimited}
	handlers := map[string]handler{"effects": effects, "commits": commits, "stepwise": stepwise, "saga": saga, "half-undone": halfUndone, "checked": checked, "recorded": recorded, "transfers": transfers, "leaves": leaves, "pays": pays}
	ends := map[string]func(int) error{"succeeds": succeeds, "fails": fails, "rejects": rejects, "refunded": refunded, "suspends": suspends}
	settings := map[string]func(*Config){
		"FailOpen":     func(c *Config) { c.OnStoreError = FailOpen },
		"MaxAttempts1": func(c *Config) { c.MaxAttempts = 1 },
		"Optimistic":   func(c *Config) { c.Optimistic = true },
		"Retention3m":  func(c *Config) { c.Retention = 3 * time.Minute },
		"Wait":         func(c *Config) { c.Wait = 5 * time.Minute },
	}
	for line := range strings.Lines(head) {
		words := strings.Fields(line)
		switch words[0] {
		case "#":
		case "handler":
			s.handler = handlers[words[1]]
		case "calls":
			for _, script := range words[1:] {
				runs := strings.Split(script, "/")
				s.callers = append(s.callers, func(run int) error { return ends[runs[min(run, len(runs))-1]](run) })
			}
		case "config":
			for _, setting := range words[1:] {
				settings[setting](&s.config)
			}
		case "first":
			s.first = map[string]firstCall{"claims": claims, "executes": executes, "claims-ahead": claimsAhead, "differs": differs}[words[1]]
		}
	}
	if s.handler == nil {
		t.Fatalf("no such handler in:\n%s", head)
	}
	return s
}

// player plays the events of a log and writes the log anew.
type player struct {
	t         *testing.T
	want, log []string
	record    string
}

func (p *player) pick(net *network, options []option) int {
	p.note(net, net.recorded(p.t))
	next := 0
	if n := len(p.log); n < len(p.want) {
		event, _, _ := strings.Cut(p.want[n], "  →")
		next = max(slices.IndexFunc(options, func(o option) bool { return o.name == event }), 0)
	}
	p.log = append(p.log, options[next].name)
	net.moment = len(p.log) < len(p.want) && p.want[len(p.log)] == moment
	return next
}

// note adds the record to the last event, if that has changed it.
func (p *player) note(net *network, r driver.Record) {
	text := cmp.Or(strings.ToLower(string(r.Status)), "no record")
	text = strings.Replace(text, "inprogress", "in progress", 1)
	if r.Status == driver.InProgress && r.Owner == "" {
		text = "released"
	} else if r.Owner != "" {
		text += fmt.Sprintf(" by %c", 'A'+net.owners[r.Owner])
	}
	if r.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", r.Attempt)
	}
	if r.Refunds > 0 {
		text += fmt.Sprintf(", refunds %d", r.Refunds)
	}
	if len(r.Steps) > 0 {
		text += fmt.Sprintf(", steps %s", strings.Join(slices.Sorted(maps.Keys(r.Steps)), " "))
	}
	if text != p.record && len(p.log) > 0 {
		p.log[len(p.log)-1] += "  → " + text
	}
	p.record = text
}

func (p *player) end(net *network, results []result) {
	p.note(net, net.final)
	for i, r := range results {
		line := fmt.Sprintf("%c received %q (%s)", 'A'+i, r.value, r.outcome)
		switch {
		case net.killed[i]:
			line = fmt.Sprintf("%c was killed", 'A'+i)
		case r.err != nil:
			line = fmt.Sprintf("%c received the error %s (%s)", 'A'+i, nameOf(r.err), r.outcome)
		}
		p.log = append(p.log, line)
	}
}

// nameOf returns the kind of an error, or the text of a handler's.
func nameOf(err error) string {
	for _, kind := range []struct {
		name string
		err  error
	}{
		{"ErrLeaseLost", ErrLeaseLost}, {"ErrReplayed", ErrReplayed}, {"ErrInProgress", ErrInProgress}, {"ErrOutcomeUnknown", ErrOutcomeUnknown},
		{"ErrCompensation", ErrCompensation}, {"ErrTimedOut", ErrTimedOut},
	} {
		if errors.Is(err, kind.err) {
			return kind.name
		}
	}
	var store *StoreError
	if errors.As(err, &store) {
		return fmt.Sprintf("ErrStore (executed: %t, rolled back: %t)", store.Executed, store.RolledBack)
	}
	return fmt.Sprintf("%q", err)
}
