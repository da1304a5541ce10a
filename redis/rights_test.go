package redis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/redis/redislocal"
)

// limited is a server with a user of these rights.
type limited struct {
	*redislocal.Server
	page []string // the rights of the page
}

func withRights(t *testing.T) limited {
	t.Helper()
	page, err := os.ReadFile("../docs/redis.md")
	check.Must(t, err)
	return limited{newServer(t), strings.Fields(regexp.MustCompile(`(?m)^ACL SETUSER .*$`).FindString(string(page)))}
}

// store returns a store of an empty server for a user without right n of the page, or with
// all of them.
func (l limited) store(t *testing.T, without int) *Store {
	t.Helper()
	var args []any
	for n, word := range l.page {
		if n != without {
			args = append(args, word)
		}
	}
	args = append(args, "+hello", "+client")
	for _, command := range [][]any{{"FLUSHALL"}, {"SCRIPT", "FLUSH"}, append(args, "reset"), args} {
		check.Must(t, l.Client().Do(t.Context(), command...).Err())
	}
	client := redis.NewClient(&redis.Options{Addr: l.Addr(), Username: "once", Password: "secret"})
	t.Cleanup(func() { check.Nil(t, client.Close()) })
	return storeOn(t, client, nil)
}

// everyCall makes every kind of call, and returns the errors.
func everyCall(t *testing.T, s *Store) (failed error) {
	t.Helper()
	at := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	r := driver.Record{ID: "a", Status: driver.InProgress, Owner: "alice", Attempt: 1, Lease: at, Expires: at.Add(time.Hour)}
	create := func(expires, cutoff time.Time) {
		r.Expires = expires
		_, _, err := s.Create(t.Context(), r, cutoff, nil)
		failed = errors.Join(failed, err)
	}
	change := func(f driver.Fence, c driver.Change) {
		_, _, err := s.Change(t.Context(), f, c)
		failed = errors.Join(failed, err)
	}
	create(r.Expires, at)
	f, released := fenceOf(r), driver.Fence{ID: r.ID, Attempt: 1, Lease: driver.LeaseEnded}
	change(f, driver.Change{Steps: map[string][]byte{"s": {0, 255}}})
	change(f, driver.Change{Lease: at.Add(time.Second), Expires: r.Expires})
	change(f, driver.Change{Release: driver.ReleaseRefund})
	change(released, driver.Change{Owner: "bob", Lease: at.Add(time.Minute), Expires: r.Expires, Fingerprint: "f"})
	change(driver.Fence{ID: r.ID, Owner: "bob"}, completed(""))
	_, err := s.Get(t.Context(), r.ID)
	failed = errors.Join(failed, err)
	create(at.AddDate(1, 0, 0), time.Now().AddDate(100, 0, 0)) // over an expired one
	change(f, driver.Change{Release: driver.ReleaseDelete})
	create(time.Time{}, at) // for ever
	return failed
}

// The page names exactly the rights that the store needs.
func TestTheRightsOfThePageSuffice(t *testing.T) {
	server := withRights(t)
	check.Nil(t, everyCall(t, server.store(t, -1)), "with", server.page)
	for n, right := range server.page {
		if !strings.HasPrefix(right, "+") || right == "+info" {
			continue
		}
		known := noted(t, server.store(t, -1).client)
		s := server.store(t, n)
		note, _ := known.notes.Load("")
		s.notes.Store("", note) // a claim then does not look at the rights of later writes
		check.Is(t, everyCall(t, s), driver.ErrDenied, right, "is not needed")
	}
}

// Otherwise the work runs again after each lease.
func TestACallWhoseLaterWritesAreDeniedDoesNotRun(t *testing.T) {
	server := withRights(t)
	for n, right := range server.page {
		if !strings.HasPrefix(right, "+") || right == "+info" {
			continue
		}
		x, err := idempotent.New("op", server.store(t, n), nil)
		check.Must(t, err)
		runs := 0
		_, err = idempotent.Do(t.Context(), x, idempotent.Key{Record: "a"}, func(context.Context) (string, error) {
			runs++
			return "", idempotent.Permanent(errors.New("declined"))
		})
		if runs > 0 || !errors.Is(err, driver.ErrDenied) {
			t.Errorf("without %s: %d runs, %v", right, runs, err)
		}
	}
}

func TestARightThatIsTakenAwayEndsTakeovers(t *testing.T) {
	server := withRights(t)
	s := server.store(t, -1)
	r := claim("a")
	created(t, s, r)
	check.Must(t, server.Client().Do(t.Context(), "ACL", "SETUSER", "once", "-hkeys").Err())
	age(t, s, 10)
	_, _, err := s.Change(t.Context(), fenceOf(r), driver.Change{Owner: "bob", Lease: r.Lease.Add(time.Minute), Expires: r.Expires})
	check.Is(t, err, driver.ErrDenied, "the takeover")
	check.Contains(t, fmt.Sprint(err), "HKEYS", "the error does not name the right")
}
