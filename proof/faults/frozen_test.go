package faults

import (
	"context"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// zombie is an owner that was frozen until its lease had lapsed, with a delayed
// heartbeat, and the other process that took over.
type zombie struct {
	*scene
	end        string
	old, other *lambdaruntime.Runtime
	call       *call
	actor      *actor
	heartbeat  *delayed
	otherCall  *call
	otherActor *actor
}

func freeze(t *testing.T, end, otherFinish string) *zombie {
	t.Helper()
	s := newScene(t)
	w := newNetwork(t)
	z := &zombie{scene: s, end: end}
	z.old = s.deploy(lambdaruntime.Function{Name: "old"}, "-lease=3s", "-endpoint="+w.url)
	// The other sends no heartbeat in between, so its record must not change at
	// all.
	z.other = s.deploy(lambdaruntime.Function{Name: "other"}, "-lease=10m")
	z.call, z.actor = s.play(z.old, end)
	z.heartbeat = w.delayNext()
	z.heartbeat.await(t)
	check.Must(t, z.old.Environment(0).Freeze())
	z.otherCall, z.otherActor = s.play(z.other, otherFinish)
	check.Equal(t, z.otherActor.Attempt, 2, "the attempt after", z.actor.Attempt)
	return z
}

// finishOther lets the other process finish, and returns its response.
func (z *zombie) finishOther() lambdaruntime.Response {
	z.Helper()
	z.otherActor.effect()
	z.otherActor.finish()
	return z.answer(z.otherCall)
}

// thaw lets the heartbeat arrive, which must be refused, and then thaws the
// process.
func (z *zombie) thaw() {
	z.Helper()
	z.heartbeat.refused(z.T)
	if err := z.old.Environment(0).Thaw(); err != nil {
		z.Fatal(err)
	}
}

// finishZombie lets the zombie finish too, and returns its response.
func (z *zombie) finishZombie() lambdaruntime.Response {
	z.Helper()
	z.actor.effect()
	z.actor.finish()
	return z.answer(z.call)
}

func (s *scene) same(got, want lambdaruntime.Response) {
	s.Helper()
	check.Equal(s, string(got.Payload), string(want.Payload))
}

// inTime plays a scene until its zombie is in time: after its lease it has 200 ms for
// its last write, in which a busy machine may do something else.
func inTime(t *testing.T, play func() (late bool)) {
	t.Helper()
	const tries = 10
	for try := 1; play(); try++ {
		if try == tries {
			t.Fatalf("none of %d zombies is in time", tries)
		}
	}
}

// late reports whether a zombie has returned because its time was over: without an
// answer of DynamoDB it returns the handler's error, if that is not to be stored.
func late(answer lambdaruntime.Response, end string) bool {
	e := answer.FunctionError
	return e != nil && (e.Type == "StoreError" && strings.Contains(e.Message, context.DeadlineExceeded.Error()) || end == "error" && e.Type == "BusyError")
}

func TestFrozenPastItsLease(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"ok", "permanent", "error"} {
		t.Run(end, func(t *testing.T) {
			if end == "permanent" && testing.Short() {
				t.Skip("finishes as a result does")
			}
			for name, play := range map[string]func(*testing.T, string) bool{
				"another runs": anotherRuns, "another completed": anotherCompleted, "another failed": anotherFailed,
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					inTime(t, func() bool { return play(t, end) })
				})
			}
		})
	}
}

func anotherRuns(t *testing.T, end string) bool {
	z := freeze(t, end, "ok")
	record := z.scan(z.records)
	z.thaw()
	z.sameItems(z.scan(z.records), record)
	lost := z.finishZombie()
	z.sameItems(z.scan(z.records), record)
	if late(lost, end) {
		return true
	}
	z.refused(lost, "LeaseLostError")
	answer := z.finishOther()
	z.resulted(answer, z.otherActor)
	z.same(z.ask(z.old), answer)
	z.happened(2) // the zombie's own effect cannot be undone
	return false
}

func anotherCompleted(t *testing.T, end string) bool {
	z := freeze(t, end, "ok")
	answer := z.finishOther()
	z.resulted(answer, z.otherActor)
	record := z.scan(z.records)
	z.thaw()
	replayed := z.finishZombie()
	z.sameItems(z.scan(z.records), record)
	if late(replayed, end) {
		return true
	}
	z.same(replayed, answer)
	z.same(z.ask(z.old), answer)
	z.happened(2)
	return false
}

// anotherFailed lets the successor fail. Only the zombie's work is then done, and
// a retry would repeat it.
func anotherFailed(t *testing.T, end string) bool {
	z := freeze(t, end, "error")
	z.refused(z.finishOther(), "BusyError")
	record := z.scan(z.records)
	z.thaw()
	z.sameItems(z.scan(z.records), record)
	answer := z.finishZombie()
	if end != "error" && late(answer, end) {
		return true
	}
	retry := z.ask(z.other)
	switch end {
	case "ok":
		z.resulted(answer, z.actor)
		z.same(retry, answer)
		z.happened(2)
	case "permanent":
		z.refused(answer, "DeclinedError")
		z.refused(retry, "ReplayedError")
		if got, want := retry.FunctionError.Message, answer.FunctionError.Message; got != want {
			t.Errorf("replayed %q, want %q", got, want)
		}
		z.happened(2)
	case "error":
		z.refused(answer, "BusyError")
		z.resulted(retry, &actor{result: result{Attempt: 3, PID: z.otherActor.PID}})
		z.happened(3)
	}
	return false
}
