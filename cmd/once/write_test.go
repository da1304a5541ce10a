package main

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
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

// A record that never expires needs a retention. Calls may come for as long as the
// rest was to be kept.
func TestResolveNeverShortensTheRetention(t *testing.T) {
	const month = 30 * 24 * time.Hour
	s := newScene(t)
	s.put(s.claimItem())
	s.refused(cli.CodeUsage, "set --retention", "resolve", "pay#1", "--failed", "no", "--yes")
	for _, c := range []struct {
		kept, want time.Duration
		retention  string
	}{{0, time.Hour, "1h"}, {0, 48 * time.Hour, "48h"}, {month, month, "1h"}} {
		item, began := s.claimItem(), time.Now()
		if c.kept > 0 {
			item["expiration"] = number(began.Add(c.kept).Unix() + 1)
		}
		s.put(item)
		s.ok("resolve", "pay#1", "--failed", "no", "--retention", c.retention, "--yes")
		r := s.stored("pay#1")
		if left := r.Expires.Sub(began); left < c.want || left > c.want+time.Minute {
			t.Errorf("%+v: it is kept for %v", c, left)
		}
		if r.Fingerprint == "" || !r.Lease.IsZero() || !strings.HasPrefix(r.Owner, "operator-") {
			t.Errorf("the record is %+v", r)
		}
	}
}

// The data of an unfinished record is no result.
func TestNoResultIsTheZeroValue(t *testing.T) {
	s := newScene(t)
	x := s.stuck()
	if r := s.run(with("resolve", "--retention", "24h", "--completed", "--no-result", "--yes")...); r.code != 0 || !strings.Contains(r.err, "the zero value of their type") {
		t.Error(r)
	}
	if got, err := s.pay(x, "again"); err != nil || got != (receipt{}) {
		t.Errorf("replayed %v, %v", got, err)
	}
	item := s.claimItem()
	item["data"] = text(`"stale"`)
	s.put(item)
	s.ok("resolve", "pay#1", "--retention", "24h", "--completed", "--no-result", "--yes")
	check.Equal(t, string(s.stored("pay#1").Data), "null", "the result")
}

func TestResolvedFailureIsReplayed(t *testing.T) {
	s := newScene(t)
	x := s.stuck()
	s.ok(with("resolve", "--retention", "24h", "--failed", "the card is stolen", "--error-type", "CardDeclined", "--error-code", "stolen", "--yes")...)
	_, err := s.pay(x, "again")
	var got *idempotent.ReplayedError
	if want := (idempotent.ReplayedError{Type: "CardDeclined", Message: "the card is stolen", Code: "stolen"}); !errors.As(err, &got) || !reflect.DeepEqual(*got, want) {
		t.Errorf("replayed %#v, want %#v", err, want)
	}
}

// An item of something else in the table may have a status, and an expiration.
func TestItemsThatAreNoRecordsAreNotWritten(t *testing.T) {
	s := newScene(t)
	s.put(map[string]types.AttributeValue{"id": text("pay#1"), "status": text("PAUSED")})
	s.put(map[string]types.AttributeValue{"id": text("session#1"), "status": text("ACTIVE"), "expiration": number(1_600_000_000)})
	for id, says := range map[string]string{"pay#1": "its status is PAUSED", "session#1": "its status is ACTIVE"} {
		for _, args := range [][]string{{"release"}, {"release", "--delete"}, {"resolve", "--failed", "no"}} {
			s.refused(cli.CodeRefused, says, append(args, id, "--yes", "--force")...)
		}
	}
}

// A resolved record that calls cannot read would not be resolved.
func TestUnreadableRecordsAreNotSettled(t *testing.T) {
	const say = `attribute "owner": it is empty`
	s := newScene(t)
	item := s.claimItem()
	item["owner"] = text("")
	s.put(item)
	s.refused(cli.CodeRefused, say, "resolve", "pay#1", "--failed", "no", "--retention", "1h", "--yes", "--force")
	s.refused(cli.CodeRefused, say, "release", "pay#1", "--yes", "--force")
	s.ok("release", "pay#1", "--delete", "--yes", "--force")
}

func TestWithoutAYesNothingIsWritten(t *testing.T) {
	s := newScene(t)
	s.claimed("pay#1", "dead", time.Now().Add(-time.Hour))
	for _, input := range []string{"", "n\n", "\n", "yes, no\n"} {
		if r := s.typing(input, "release", "pay#1"); r.code != cli.CodeDeclined || s.stored("pay#1").Owner != "dead" {
			t.Errorf("%q: exit %d, and the record is %+v", input, r.code, s.stored("pay#1"))
		}
	}
	if r := s.typing("y\n", "release", "pay#1"); r.code != 0 || s.stored("pay#1").Owner != "" {
		t.Errorf("exit %d, and the record is %+v", r.code, s.stored("pay#1"))
	}
}
