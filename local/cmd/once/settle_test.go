package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
)

// theKey is that of scene.pay, as flags.
func theKey() []string { return []string{"--operation", "pay", "--scope", "ada", "order-1"} }

func with(command string, more ...string) []string {
	return append(append([]string{command}, theKey()...), more...)
}

// stuck leaves a key that never runs again without a person.
func (s *scene) stuck() *idempotent.Executor {
	s.Helper()
	x := s.executor(&idempotent.Config{MaxAttempts: 1})
	if _, err := s.pay(x, errCrash); !errors.Is(err, errCrash) {
		s.Fatal(err)
	}
	s.isStuck(x)
	return x
}

func (s *scene) isStuck(x *idempotent.Executor) {
	s.Helper()
	if got, err := s.pay(x, "again"); !errors.Is(err, idempotent.ErrOutcomeUnknown) {
		s.Fatalf("a key without attempts: %v, %v", got, err)
	}
}

func TestResolveCompleted(t *testing.T) {
	for name, args := range map[string][]string{
		"text":   nil,
		"native": {"--native"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			x := s.stuck()
			if args != nil {
				var err error
				if s.store, err = dynamo.New(s.client, s.table, &dynamo.Options{Data: dynamo.Native}); err != nil {
					t.Fatal(err)
				}
				x = s.executor(&idempotent.Config{MaxAttempts: 1})
			}
			file := filepath.Join(t.TempDir(), "result.json")
			if err := os.WriteFile(file, []byte(`{"id": "p-7"}`), 0o600); err != nil {
				t.Fatal(err)
			}
			if out := s.ok(with("resolve", append(args, "--retention", "24h", "--completed", "--data", file, "--yes")...)...); !strings.HasPrefix(out, "COMPLETED: pay#") {
				t.Errorf("it says %q", out)
			}
			if got, err := s.pay(x, "again"); err != nil || got.ID != "p-7" {
				t.Errorf("replayed %v, %v", got, err)
			}
		})
	}
}

func TestResolveFromStandardInput(t *testing.T) {
	s := newScene(t)
	x := s.stuck()
	if r := s.typing(`{"id":"p-7"}`, with("resolve", "--retention", "24h", "--completed", "--data", "-", "--yes")...); r.code != 0 {
		t.Fatal(r)
	}
	if got, err := s.pay(x, "again"); err != nil || got.ID != "p-7" {
		t.Errorf("replayed %v, %v", got, err)
	}
}

func TestResolveKeepsTheRetention(t *testing.T) {
	s := newScene(t)
	s.stuck()
	began := time.Now()
	s.ok(with("resolve", "--completed", "--no-result", "--retention", "48h", "--yes")...)
	id, err := idempotent.RecordID("pay", idempotent.Key{Scope: "ada", ID: "order-1"})
	if err != nil {
		t.Fatal(err)
	}
	r := s.stored(id)
	if left := r.Expires.Sub(began); left < 48*time.Hour || left > 48*time.Hour+time.Minute {
		t.Errorf("it is kept for %v", left)
	}
	if r.Fingerprint == "" || !r.Lease.IsZero() || !strings.HasPrefix(r.Owner, "operator-") {
		t.Errorf("the record is %+v", r)
	}
}

// Calls may come for as long as the record was to be kept.
func TestResolveNeverShortensTheRetention(t *testing.T) {
	s := newScene(t)
	item := s.claimItem()
	kept := time.Now().Add(30 * 24 * time.Hour).Unix()
	item["expiration"] = number(kept)
	s.put(item)
	r := s.run("resolve", "pay#1", "--failed", "no", "--retention", "1h", "--yes")
	if got := s.stored("pay#1").Expires.Unix(); r.code != 0 || got != kept || !strings.Contains(r.err, "after that the key runs again") {
		t.Errorf("exit %d, it expires at %d, want %d\n%s", r.code, got, kept, r.err)
	}
}

func TestResolveOfWhatNeverExpiresNeedsARetention(t *testing.T) {
	s := newScene(t)
	s.put(s.claimItem())
	s.refused(codeUsage, "give --retention", "resolve", "pay#1", "--failed", "no", "--yes")
	began := time.Now()
	s.ok("resolve", "pay#1", "--failed", "no", "--retention", "1h", "--yes")
	if left := s.stored("pay#1").Expires.Sub(began); left < time.Hour || left > time.Hour+time.Minute {
		t.Errorf("it is kept for %v", left)
	}
}

func TestResolveWithoutAResult(t *testing.T) {
	s := newScene(t)
	x := s.stuck()
	if r := s.run(with("resolve", "--retention", "24h", "--completed", "--no-result", "--yes")...); r.code != 0 || !strings.Contains(r.err, "the zero value of their type") {
		t.Error(r)
	}
	if got, err := s.pay(x, "again"); err != nil || got != (receipt{}) {
		t.Errorf("replayed %v, %v", got, err)
	}
}

// Data of an unfinished record is nobody's result.
func TestNoResultIsNone(t *testing.T) {
	s := newScene(t)
	item := s.claimItem()
	item["data"] = text(`"stale"`)
	s.put(item)
	s.ok("resolve", "pay#1", "--retention", "24h", "--completed", "--no-result", "--yes")
	if r := s.stored("pay#1"); r.Data != nil {
		t.Errorf("the result is %s", r.Data)
	}
}

func TestResolveFailed(t *testing.T) {
	s := newScene(t)
	x := s.stuck()
	s.ok(with("resolve", "--retention", "24h", "--failed", "the card is stolen", "--error-type", "CardDeclined", "--error-code", "stolen", "--yes")...)
	_, err := s.pay(x, "again")
	var got *idempotent.ReplayedError
	if want := (idempotent.ReplayedError{Type: "CardDeclined", Message: "the card is stolen", Code: "stolen"}); !errors.As(err, &got) || *got != want {
		t.Errorf("replayed %#v, want %#v", err, want)
	}
}

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

func TestReleaseByDeleting(t *testing.T) {
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
func TestAReleasedOwnerFinishes(t *testing.T) {
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
func TestReleaseAfterACrash(t *testing.T) {
	s := newScene(t)
	s.claimed("pay#crashed", "dead", time.Now().Add(-time.Hour))
	s.ok("release", "pay#crashed", "--yes")
	r := s.stored("pay#crashed")
	if r.Owner != "" || !r.Lease.Equal(idempotent.LeaseEnded) || r.Attempt != 1 || r.Used() != 0 || r.Fingerprint != "f1" {
		t.Errorf("the record is %+v", r)
	}
}

func TestALiveLeaseNeedsForce(t *testing.T) {
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
func TestALeaseWithinTheSkew(t *testing.T) {
	s := newScene(t)
	s.claimed("pay#1", "alive", time.Now().Add(-30*time.Second))
	s.refused(codeRefused, "somebody runs it until", "release", "pay#1", "--yes", "--clock-skew", "1m")
	s.ok("release", "pay#1", "--yes")
}

// All callers get one answer, that of the operator, even the one who runs.
func TestAResolvedOwnerGetsTheAnswer(t *testing.T) {
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
	if _, ok, err := s.store.Change(t.Context(), idempotent.Fence{ID: "pay#1", Owner: "dead"}, idempotent.Change{Steps: map[string][]byte{"reserve": []byte("1")}}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	s.refused(codeRefused, "1 finished steps", "release", "pay#1", "--delete", "--yes")
	s.ok("release", "pay#1", "--yes")
	if r := s.stored("pay#1"); string(r.Steps["reserve"]) != "1" {
		t.Errorf("the steps are %v", r.Steps)
	}
	s.ok("resolve", "pay#1", "--retention", "24h", "--completed", "--no-result", "--yes")
	if r := s.stored("pay#1"); len(r.Steps) != 0 || r.Status != idempotent.Completed {
		t.Errorf("the record is %+v", r)
	}
}

// powertools writes a record as Powertools for AWS Lambda does.
func (s *scene) powertools(id string, lease int64) {
	s.Helper()
	item := map[string]types.AttributeValue{
		"id": text(id), "status": text("INPROGRESS"), "expiration": number(time.Now().Add(time.Hour).Unix()),
	}
	if lease > 0 {
		item["in_progress_expiration"] = number(lease)
	}
	s.put(item)
}

// powertoolsClaims makes the claim of Powertools, and reports whether it holds.
func (s *scene) powertoolsClaims(id string) bool {
	s.Helper()
	condition := "attribute_not_exists(id) OR expiration < :now OR (#s = :p AND attribute_exists(in_progress_expiration) AND in_progress_expiration < :ms)"
	_, err := s.client.PutItem(s.Context(), &dynamodb.PutItemInput{
		TableName: &s.table, ConditionExpression: &condition,
		Item:                     map[string]types.AttributeValue{"id": text(id), "status": text("INPROGRESS"), "expiration": number(9_999_999_999)},
		ExpressionAttributeNames: map[string]string{"#s": "status"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":p": text("INPROGRESS"), ":now": number(time.Now().Unix()), ":ms": number(time.Now().UnixMilli()),
		},
	})
	var held *types.ConditionalCheckFailedException
	if err != nil && !errors.As(err, &held) {
		s.Fatal(err)
	}
	return err == nil
}

func TestReleaseOfPowertools(t *testing.T) {
	s := newScene(t)
	s.powertools("app.handler#1", time.Now().Add(-time.Hour).UnixMilli())
	s.ok("release", "app.handler#1", "--yes")
	if !s.powertoolsClaims("app.handler#1") {
		t.Error("Powertools cannot claim it")
	}
	s.powertools("app.handler#2", 0)
	s.refused(codeRefused, "the record has no lease", "release", "app.handler#2", "--yes")
	if s.powertoolsClaims("app.handler#2") {
		t.Fatal("Powertools claims a record that blocks")
	}
	s.ok("release", "app.handler#2", "--yes", "--force")
	if !s.powertoolsClaims("app.handler#2") {
		t.Error("Powertools cannot claim it")
	}
}

func TestResolveOfPowertools(t *testing.T) {
	s := newScene(t)
	s.powertools("app.handler#1", time.Now().Add(-time.Hour).UnixMilli())
	s.refused(codeRefused, "it knows no FAILED", "resolve", "app.handler#1", "--failed", "no", "--yes")
	if r := s.typing(`{"n":9007199254740993}`, "resolve", "--retention", "24h", "app.handler#1", "--completed", "--data", "-", "--yes", "--native"); r.code != 0 {
		t.Fatal(r)
	}
	out, err := s.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &s.table, Key: map[string]types.AttributeValue{"id": text("app.handler#1")}})
	if err != nil {
		t.Fatal(err)
	}
	data, ok := out.Item["data"].(*types.AttributeValueMemberM)
	if !ok || data.Value["n"].(*types.AttributeValueMemberN).Value != "9007199254740993" {
		t.Errorf("data is %#v", out.Item["data"])
	}
}

func TestFinishedRecordsAreNotResolved(t *testing.T) {
	s := newScene(t)
	if _, err := s.pay(s.executor(nil), "done"); err != nil {
		t.Fatal(err)
	}
	s.refused(codeRefused, "all must get the same", with("resolve", "--failed", "no", "--yes", "--force")...)
}

func TestBrokenItemsAreNotWritten(t *testing.T) {
	s := newScene(t)
	s.put(map[string]types.AttributeValue{"id": text("pay#1"), "status": text("PAUSED")})
	s.refused(codeRefused, "its status is PAUSED", "release", "pay#1", "--yes", "--force")
	s.refused(codeRefused, "its status is PAUSED", "resolve", "pay#1", "--completed", "--no-result", "--yes", "--force")
}

// An item of something else in the table may have a status, and an expiration.
func TestForeignItemsThatHaveEndedAreNotWritten(t *testing.T) {
	s := newScene(t)
	s.put(map[string]types.AttributeValue{"id": text("session#1"), "status": text("ACTIVE"), "expiration": number(1_600_000_000)})
	s.refused(codeRefused, "its status is ACTIVE", "release", "session#1", "--delete", "--yes")
	s.refused(codeRefused, "its status is ACTIVE", "release", "session#1", "--yes")
	s.refused(codeRefused, "its status is ACTIVE", "resolve", "session#1", "--failed", "no", "--yes")
}

// A settled record that calls cannot read would not be settled.
func TestUnreadableRecordsAreNotSettled(t *testing.T) {
	for say, change := range map[string]func(map[string]types.AttributeValue){
		"expiration is not a whole number": func(item map[string]types.AttributeValue) { item["expiration"] = number(1_795_000_000_000) },
		"attempt is not a number":          func(item map[string]types.AttributeValue) { item["attempt"] = text("one") },
		"owner is empty":                   func(item map[string]types.AttributeValue) { item["owner"] = text("") },
	} {
		s := newScene(t)
		item := s.claimItem()
		change(item)
		s.put(item)
		s.refused(codeRefused, say, "resolve", "pay#1", "--failed", "no", "--retention", "1h", "--yes", "--force")
		s.refused(codeRefused, say, "release", "pay#1", "--yes", "--force")
		s.ok("release", "pay#1", "--delete", "--yes", "--force")
	}
}

func TestWithoutAYesNothingIsWritten(t *testing.T) {
	s := newScene(t)
	s.claimed("pay#1", "dead", time.Now().Add(-time.Hour))
	for _, input := range []string{"", "n\n", "\n", "yes, no\n"} {
		if r := s.typing(input, "release", "pay#1"); r.code != codeDeclined || s.stored("pay#1").Owner != "dead" {
			t.Errorf("%q: exit %d, and the record is %+v", input, r.code, s.stored("pay#1"))
		}
	}
	if r := s.typing("y\n", "release", "pay#1"); r.code != 0 || s.stored("pay#1").Owner != "" {
		t.Errorf("exit %d, and the record is %+v", r.code, s.stored("pay#1"))
	}
}
