package main

import (
	"reflect"
	"testing"
	"time"

	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/powertoolsjs"
)

// Powertools changes records that it does not own. docs/powertools.md says so;
// when a release of Powertools repairs it, these tests and that page change.

// wrappers are the ways to protect a handler in TypeScript, with the executions of a key
// whose record is found by a call that may not have it.
var wrappers = map[powertoolsjs.Program]int{powertoolsjs.MakeIdempotent: 1, powertoolsjs.Middy: 2}

// makeIdempotent leaves the record of a call that it refuses, and the middleware for
// Middy deletes it: the next call runs while the first still does.
func TestOnlyMiddyDeletesTheLiveRecordOfADuplicate(t *testing.T) {
	t.Parallel()
	for program, want := range wrappers {
		t.Run(string(program), func(t *testing.T) {
			t.Parallel()
			p := newPair(t, options{program: program, onceEnv: []string{"SHARED_DELAY=2000ms"}})
			done := p.begin(t, p.once, `{"id":"k"}`, 1)
			if err := p.once.Environment(0).Freeze(); err != nil { // it waits for the duplicates
				t.Fatal(err)
			}
			if got, err := ask(t.Context(), p.powertools, `{"id":"k"}`); deployed.Failure(err) != "IdempotencyAlreadyInProgressError" {
				t.Errorf("the duplicate gets %+v, %v", got, err)
			}
			second, err := ask(t.Context(), p.powertools, `{"id":"k"}`)
			check.Equal(t, deployed.Failure(err) == "IdempotencyAlreadyInProgressError", want == 1, "the second duplicate is refused", second, err)
			check.Must(t, p.once.Environment(0).Thaw())
			check.Nil(t, (<-done).err, "the first call")
			again := mustAsk(t, p.once, `{"id":"k"}`)
			check.Equal(t, p.executions(t)[again.Record], want, p.executions(t))
		})
	}
}

// The same with the completed record of a different payload.
func TestOnlyMiddyDeletesTheCompletedRecordOfAnotherPayload(t *testing.T) {
	t.Parallel()
	for program, want := range wrappers {
		t.Run(string(program), func(t *testing.T) {
			t.Parallel()
			p := newPair(t, options{program: program, env: []string{"POWERTOOLS_VALIDATION=amount"}})
			first := mustAsk(t, p.once, `{"id":"k","amount":100}`)
			if got, err := ask(t.Context(), p.powertools, `{"id":"k","amount":101}`); deployed.Failure(err) != "IdempotencyValidationError" {
				t.Errorf("another payload gets %+v, %v", got, err)
			}
			if item := p.record(t, first.Record); (item != nil) != (want == 1) {
				t.Errorf("the record is %v", item)
			}
			again := mustAsk(t, p.once, `{"id":"k","amount":100}`)
			if !reflect.DeepEqual(again, first) || p.executions(t)[first.Record] != want {
				t.Errorf("%+v is replayed as %+v, executions %v", first, again, p.executions(t))
			}
		})
	}
}

// Powertools completes the record of the event as its handler left it. That of the event
// that came stays in progress: its work runs again once the lease has lapsed.
func TestHandlerOfPowertoolsThatChangesItsEventCompletesAnotherRecord(t *testing.T) {
	t.Parallel()
	p := newPair(t, options{program: powertoolsjs.Changing, timeout: 3 * time.Second})
	const event = `{"id":"k"}`
	first := mustAsk(t, p.powertools, event)
	check.Deep(t, mustAsk(t, p.once, `{"id":"k, changed"}`), first, "a key that never ran")
	check.Equal(t, text(p.record(t, first.Record)["status"]), "INPROGRESS", "the record of the event")
	again := untilTaken(t, p.once, event)
	check.Equal(t, p.executions(t)[again.Record], 2, p.executions(t))
}
