package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// One release is one more run, and not two.
func TestReleaseRunsOnceMore(t *testing.T) {
	s := newScene(t)
	x := s.stuck()
	if out := s.ok(with("release", "--yes")...); !strings.HasPrefix(out, "released: pay#") {
		t.Errorf("it says %q", out)
	}
	s.refused(codeRefused, "released already", with("release", "--yes")...)
	if _, err := s.pay(x, errCrash); !errors.Is(err, errCrash) {
		t.Fatalf("it did not run: %v", err)
	}
	s.isStuck(x)
	s.ok(with("release", "--yes")...)
	if got, err := s.pay(x, "again"); err != nil || got.ID != "again" {
		t.Errorf("ran %v, %v", got, err)
	}
}

func TestReleaseWithDeleteRemovesTheItem(t *testing.T) {
	s := newScene(t)
	x := s.stuck()
	s.refused(codeRefused, "limits the attempts", with("release", "--delete", "--yes")...)
	s.ok(with("release", "--delete", "--force", "--yes")...)
	if items := s.items(); len(items) != 0 {
		t.Errorf("the table has %v", items)
	}
	if got, err := s.pay(x, "again"); err != nil || got.ID != "again" {
		t.Errorf("ran %v, %v", got, err)
	}
	s.refused(codeRefused, "work of this record is finished", with("release", "--delete", "--yes")...)
	s.refused(codeRefused, "the record is finished", with("release", "--force", "--yes")...)
	s.ok(with("release", "--delete", "--force", "--yes")...)
	if got, err := s.pay(x, "anew"); err != nil || got.ID != "anew" {
		t.Errorf("ran %v, %v", got, err)
	}
}

// A delayed copy of a claim finds a place where the item is gone.
func TestDeletionIsExplained(t *testing.T) {
	s := newScene(t)
	item := s.claimItem()
	item["expiration"], item["attempt"] = number(time.Now().Add(time.Hour).Unix()), number(2)
	s.put(item)
	s.refused(codeRefused, "limits the attempts", "release", "pay#1", "--delete", "--yes")
	item["attempt"] = number(1)
	s.put(item)
	if r := s.run("release", "pay#1", "--delete", "--yes"); r.code != 0 || !strings.Contains(r.err, "delayed copy of its claim can bring it back") {
		t.Error(r)
	}
}

// An owner that is late records its result in a record that was released.
func TestReleasedOwnerFinishes(t *testing.T) {
	s := newScene(t)
	x := s.executor(nil)
	got, err := idempotent.Do(t.Context(), x, idempotent.Key{Scope: "ada", ID: "order-1", Payload: 12}, func(context.Context) (receipt, error) {
		s.ok(with("release", "--yes", "--force")...)
		return receipt{ID: "late"}, nil
	})
	if again, errAgain := s.pay(x, "again"); err != nil || errAgain != nil || got != again || got.ID != "late" {
		t.Errorf("the owner got %v, %v, and the next call %v, %v", got, err, again, errAgain)
	}
}

// A crash leaves a lease that has lapsed, and an owner.
func TestReleaseAfterACrashRunsAgain(t *testing.T) {
	s := newScene(t)
	s.claimed("pay#crashed", "dead", time.Now().Add(-time.Hour))
	s.ok("release", "pay#crashed", "--yes")
	r := s.stored("pay#crashed")
	if r.Owner != "" || !r.Lease.Equal(driver.LeaseEnded) || r.Attempt != 1 || r.Used() != 0 || r.Fingerprint != "f1" {
		t.Errorf("the record is %+v", r)
	}
}

func TestLiveLeaseNeedsForce(t *testing.T) {
	for _, args := range [][]string{{"release"}, {"release", "--delete"}, {"resolve", "--retention", "24h", "--completed", "--no-result"}, {"resolve", "--retention", "24h", "--failed", "no"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			s := newScene(t)
			s.claimed("pay#1", "alive", time.Now().Add(time.Hour))
			args := append(args, "pay#1", "--yes")
			s.refused(codeRefused, "somebody runs it until", args...)
			r := s.run(append(args, "--force")...)
			if r.code != 0 || !strings.Contains(r.err, "With --force, although somebody runs it until ") {
				t.Errorf("exit %d\n%s", r.code, r.err)
			}
		})
	}
}

// The lease is live for the skew of the clocks, too.
func TestLeaseWithinTheSkewIsLive(t *testing.T) {
	s := newScene(t)
	lease := time.Now().Add(-30 * time.Second).UTC().Truncate(time.Second)
	s.claimed("pay#1", "alive", lease)
	until := lease.Add(time.Minute).Format(time.RFC3339)
	s.refused(codeRefused, "somebody runs it until "+until, "release", "pay#1", "--yes", "--clock-skew", "1m")
	if out := s.ok("inspect", "pay#1", "--clock-skew", "1m"); !strings.Contains(out, "but counts as live for the clock skew of 1m0s\n") {
		t.Errorf("inspect shows\n%s", out)
	}
	s.ok("release", "pay#1", "--yes")
}

// All callers get one answer, that of the operator, even the one who runs.
func TestOwnerOfAResolvedRecordGetsItsResult(t *testing.T) {
	s := newScene(t)
	x := s.executor(nil)
	got, err := idempotent.Do(t.Context(), x, idempotent.Key{Scope: "ada", ID: "order-1", Payload: 12}, func(context.Context) (receipt, error) {
		r := s.typing(`{"id":"the operator's"}`, with("resolve", "--retention", "24h", "--completed", "--data", "-", "--yes", "--force")...)
		if r.code != 0 {
			t.Error(r)
		}
		return receipt{ID: "its own"}, nil
	})
	if again, errAgain := s.pay(x, "again"); err != nil || errAgain != nil || got != again || got.ID != "the operator's" {
		t.Errorf("the owner got %v, %v, and the next call %v, %v", got, err, again, errAgain)
	}
}

func TestStepsAreKept(t *testing.T) {
	s := newScene(t)
	s.claimed("pay#1", "dead", time.Now().Add(-time.Hour))
	if _, ok, err := s.store.Change(t.Context(), driver.Fence{ID: "pay#1", Owner: "dead"}, driver.Change{Steps: map[string][]byte{"reserve": []byte("1")}}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	s.refused(codeRefused, "1 finished steps", "release", "pay#1", "--delete", "--yes")
	s.ok("release", "pay#1", "--yes")
	if r := s.stored("pay#1"); string(r.Steps["reserve"]) != "1" {
		t.Errorf("the steps are %v", r.Steps)
	}
	s.ok("resolve", "pay#1", "--retention", "24h", "--completed", "--no-result", "--yes")
	if r := s.stored("pay#1"); len(r.Steps) != 0 || r.Status != driver.Completed {
		t.Errorf("the record is %+v", r)
	}
}

// The service of durable executions can stop the clock of one, so that it outlives the
// lease of its record. A call asks the service before it takes over.
func TestRecordOfAPausedExecutionIsRefused(t *testing.T) {
	s := newScene(t)
	s.claimed("pay#1", "execution-0123:arn:aws:lambda:eu-west-1:123456789012:function:pay", time.Now().Add(-time.Hour))
	s.refused(codeRefused, "a durable execution owns it", "release", "--yes", "pay#1")
	s.refused(codeRefused, "a durable execution owns it", "release", "--delete", "--yes", "pay#1")
	s.refused(codeRefused, "a durable execution owns it", "resolve", "--completed", "--no-result", "--yes", "pay#1")
	s.ok("release", "--force", "--yes", "pay#1")
}
