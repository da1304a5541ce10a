package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// result of an invocation.
type result struct {
	reply
	err error
}

// begin invokes a function, and returns when it has executed.
func (p *pair) begin(t *testing.T, f *lambdaruntime.Runtime, event string, executions int) <-chan result {
	t.Helper()
	done := make(chan result, 1)
	go func() {
		r, err := ask(t.Context(), f, event)
		done <- result{r, err}
	}()
	p.awaitExecutions(t, executions)
	return done
}

// Each library refuses a key that its counterpart runs.
func TestDuplicateOfARunningCallIsRefusedByBoth(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]string{"Once": "IdempotencyAlreadyInProgressError", "Powertools": "InProgressError"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, options{env: []string{"SHARED_DELAY=2000ms"}})
			runs, refuses := p.once, p.powertools
			if name == "Powertools" {
				runs, refuses = refuses, runs
			}
			done := p.begin(t, runs, `{"id":"k"}`, 1)
			if err := runs.Environment(0).Freeze(); err != nil { // it waits for the duplicate
				t.Fatal(err)
			}
			if got, err := ask(t.Context(), refuses, `{"id":"k"}`); deployed.Failure(err) != refusal {
				t.Errorf("the duplicate gets %+v, %v", got, err)
			}
			check.Must(t, runs.Environment(0).Thaw())
			first := <-done
			again := mustAsk(t, refuses, `{"id":"k"}`)
			if first.err != nil || !reflect.DeepEqual(first.reply, again) || p.executions(t)[again.Record] != 1 {
				t.Errorf("%+v is replayed as %+v, executions %v", first, again, p.executions(t))
			}
		})
	}
}

// untilTaken repeats an event until the record of a frozen call has been taken over.
func untilTaken(t *testing.T, f *lambdaruntime.Runtime, event string) reply {
	t.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	var err error
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); <-ticker.C {
		var got reply
		if got, err = ask(t.Context(), f, event); err == nil {
			return got
		}
	}
	t.Fatalf("nothing takes over: %v", err)
	return reply{}
}

// frozen lets a function run until its effect, and stops it there until its counterpart
// has taken its record over. The two events have one key.
func (p *pair) frozen(t *testing.T, late, other *lambdaruntime.Runtime) (taken reply, end result) {
	t.Helper()
	done := p.begin(t, late, `{"id":"k","by":"the late one"}`, 1)
	check.Must(t, late.Environment(0).Freeze())
	taken = untilTaken(t, other, `{"id":"k","by":"the other"}`)
	check.Equal(t, p.executions(t)[taken.Record], 2, "executions, one of each")
	check.Must(t, late.Environment(0).Thaw())
	return taken, <-done
}

// replayed requires that both replay a reply.
func (p *pair) replayed(t *testing.T, want reply) {
	t.Helper()
	for name, f := range map[string]*lambdaruntime.Runtime{"Once": p.once, "Powertools": p.powertools} {
		check.Deep(t, mustAsk(t, f, `{"id":"k"}`), want, name, "replays")
	}
}

// A call of ours that Powertools has taken over is fenced.
func TestThawedCallOfOnceChangesNothing(t *testing.T) {
	t.Parallel()
	p := newPair(t, options{onceEnv: []string{"SHARED_DELAY=4000ms"}, timeout: 8 * time.Second})
	taken, end := p.frozen(t, p.once, p.powertools)
	if end.err == nil && !reflect.DeepEqual(end.reply, taken) {
		t.Errorf("the late call returns %+v, its successor %+v", end.reply, taken)
	}
	p.replayed(t, taken)
}

// A call of Powertools that we have taken over is not: its late result replaces the
// stored one. docs/powertools.md says so.
func TestThawedCallOfPowertoolsReplacesTheResult(t *testing.T) {
	t.Parallel()
	p := newPair(t, options{powertoolsEnv: []string{"SHARED_DELAY=4000ms"}, timeout: 8 * time.Second})
	taken, end := p.frozen(t, p.powertools, p.once)
	if end.err != nil || reflect.DeepEqual(end.reply, taken) {
		t.Fatalf("the late call returns %+v", end)
	}
	p.replayed(t, end.reply)
}

// Within their leases, any number of processes of both execute each key once.
func TestStormOfBothExecutesEachKeyOnce(t *testing.T) {
	t.Parallel()
	const keys, copies = 60, 6
	p := newPair(t, options{environments: 3, env: []string{"SHARED_DELAY=5ms"}})
	var all sync.WaitGroup
	var mu sync.Mutex
	replies := map[string][]reply{}
	waiting := make(chan struct{}, 12)
	for _, i := range rand.Perm(keys * copies) {
		f := []*lambdaruntime.Runtime{p.once, p.powertools}[i%2]
		event := fmt.Sprintf(`{"id":"k-%d","copy":%d}`, i/copies, i)
		waiting <- struct{}{}
		all.Go(func() {
			defer func() { <-waiting }()
			r, err := retried(t.Context(), f, event)
			if err != nil {
				t.Errorf("%s: %v", event, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			replies[r.Record] = append(replies[r.Record], r)
		})
	}
	all.Wait()
	counts := p.executions(t)
	for record, got := range replies {
		if counts[record] != 1 || len(got) != copies {
			t.Errorf("%s: %d executions, %d replies", record, counts[record], len(got))
		}
		for _, r := range got {
			check.Deep(t, r, got[0], record)
		}
	}
	check.Equal(t, len(counts), keys, "records")
}

// retried repeats an event while its key is in progress, as every caller must.
func retried(ctx context.Context, f *lambdaruntime.Runtime, event string) (r reply, err error) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); <-ticker.C {
		r, err = ask(ctx, f, event)
		if name := deployed.Failure(err); err == nil || name != "InProgressError" && name != "IdempotencyAlreadyInProgressError" {
			return r, err
		}
	}
	return r, err
}
