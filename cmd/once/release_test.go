package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// A delayed copy of a claim finds a place where the item is gone.
func TestDeletionIsExplained(t *testing.T) {
	s := newScene(t)
	item := s.claimItem()
	item["expiration"], item["attempt"] = number(time.Now().Add(time.Hour).Unix()), number(2)
	s.put(item)
	s.refused(cli.CodeRefused, "limits the attempts", "release", "pay#1", "--delete", "--yes")
	item["attempt"] = number(1)
	s.put(item)
	if r := s.run("release", "pay#1", "--delete", "--yes"); r.code != 0 || !strings.Contains(r.err, "delayed copy of its claim can bring it back") {
		t.Error(r)
	}
}

// An owner that is late records its result in a record that was released. In one that
// was resolved it does not: all callers get one answer, even the one who runs.
func TestOwnerThatIsLateGetsTheOneAnswer(t *testing.T) {
	for want, args := range map[string][]string{
		"its own":        {"release"},
		"the operator's": {"resolve", "--retention", "24h", "--completed", "--data", "-"},
	} {
		s := newScene(t)
		x := s.executor(nil)
		got, err := idempotent.Do(t.Context(), x, idempotent.Key{Scope: "ada", ID: "order-1", Payload: 12}, func(context.Context) (receipt, error) {
			if r := s.typing(`{"id":"the operator's"}`, with(args[0], append(args[1:], "--yes", "--force")...)...); r.code != 0 {
				t.Error(r)
			}
			return receipt{ID: "its own"}, nil
		})
		if again, errAgain := s.pay(x, "again"); err != nil || errAgain != nil || got != again || got.ID != want {
			t.Errorf("the owner got %v, %v, and the next call %v, %v", got, err, again, errAgain)
		}
	}
}

func TestStepsAreKept(t *testing.T) {
	s := newScene(t)
	s.claimed("pay#1", "dead", time.Now().Add(-time.Hour))
	if _, ok, err := s.store.Change(t.Context(), driver.Fence{ID: "pay#1", Owner: "dead"}, driver.Change{Steps: map[string][]byte{"reserve": []byte("1")}}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	s.refused(cli.CodeRefused, "1 finished steps", "release", "pay#1", "--delete", "--yes")
	s.ok("release", "pay#1", "--yes")
	if r := s.stored("pay#1"); string(r.Steps["reserve"]) != "1" {
		t.Errorf("the steps are %v", r.Steps)
	}
	s.ok("resolve", "pay#1", "--retention", "24h", "--completed", "--no-result", "--yes")
	if r := s.stored("pay#1"); len(r.Steps) != 0 || r.Status != driver.Completed {
		t.Errorf("the record is %+v", r)
	}
}

// A stopped execution may still have effects in its last invocation.
func TestLastInvocationOfAnExecutionMayStillRun(t *testing.T) {
	const arn = "arn:aws:lambda:eu-west-1:123456789012:function:pay:1/durable-execution/a/b"
	for owner, shown := range map[string]string{"execution-0123:" + arn: "A durable execution owns it: " + arn, "execution-0123": "its ARN is not stored"} {
		s := newScene(t)
		s.claimed("pay#1", owner, time.Now().Add(time.Hour))
		s.refused(cli.CodeRefused, "a durable execution owns it until", "release", "--yes", "pay#1")
		s.refused(cli.CodeRefused, "its last invocation, which may still have effects", "release", "--yes", "pay#1")
		for _, says := range []string{shown, "its last invocation, which may still have effects"} {
			check.Contains(t, s.ok("inspect", "pay#1"), says, "inspect")
		}
		if r := s.run("release", "--yes", "--force", "pay#1"); r.code != 0 || !strings.Contains(r.err, "With --force, although a durable execution owns it until") {
			t.Error(r)
		}
	}
}

// The service of durable executions can stop the clock of one, so that it outlives the
// lease of its record. A call asks the service before it takes over.
func TestRecordOfAPausedExecutionIsRefused(t *testing.T) {
	s := newScene(t)
	s.claimed("pay#1", "execution-0123:arn:aws:lambda:eu-west-1:123456789012:function:pay", time.Now().Add(-time.Hour))
	s.refused(cli.CodeRefused, "a durable execution owns it", "release", "--yes", "pay#1")
	s.refused(cli.CodeRefused, "its last invocation", "release", "--yes", "pay#1")
	s.refused(cli.CodeRefused, "a durable execution owns it", "release", "--delete", "--yes", "pay#1")
	s.refused(cli.CodeRefused, "a durable execution owns it", "resolve", "--completed", "--no-result", "--yes", "pay#1")
	s.ok("release", "--force", "--yes", "pay#1")
}

// Under ProviderMemory, a release lets an effect happen again that a provider has forgotten.
func TestReleaseSaysThatTheBeginningIsForgotten(t *testing.T) {
	onStores(t, func(s *storeScene) {
		id, _ := s.leave(idempotent.Config{ProviderMemory: time.Hour})
		check.Contains(t, s.prints("ProviderMemory", "inspect", id), "In both cases find out what was done.")
		r := s.run(s.with("release", id, "--yes")...)
		check.Contains(s, r.err, "for ProviderMemory the next call is a first attempt")
		check.True(s, s.get(id).Began.IsZero(), "it has a beginning")
		s.claim("pay#old", -time.Hour) // by a version without one
		check.Lacks(s, s.run(s.with("release", "pay#old", "--yes")...).err, "ProviderMemory")
	})
}
