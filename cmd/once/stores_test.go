package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/checks"
	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/redis"
	"github.com/lambda-once/once/redis/redislocal"
)

// stores are all stores.
var stores = map[string]func(t *testing.T) *storeScene{
	"DynamoDB": func(t *testing.T) *storeScene {
		s := newScene(t)
		return &storeScene{&scene{T: t}, s.store, []string{"--table", s.table}}
	},
	"PostgreSQL": func(t *testing.T) *storeScene {
		s := newPostgresScene(t, "idempotency", nil)
		return &storeScene{&scene{T: t}, s.store, []string{"--postgres", s.url}}
	},
	"Redis": func(t *testing.T) *storeScene {
		client, prefix := redislocal.NewClient(t)
		store, err := redis.New(client, &redis.Options{Prefix: prefix})
		check.Must(t, err)
		return &storeScene{&scene{T: t}, store, []string{"--redis", "redis://" + client.Options().Addr, "--key-prefix", prefix}}
	},
}

// storeScene is one of the stores, and the command on it, with its flags for the store.
type storeScene struct {
	*scene
	records driver.Operable
	flags   []string
}

// onStores runs a test on each store.
func onStores(t *testing.T, test func(s *storeScene)) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) { test(open(t)) })
	}
}

func (s *storeScene) with(args ...string) []string { return append(args, s.flags...) }

func (s *storeScene) prints(want string, args ...string) string {
	s.Helper()
	out := s.ok(s.with(args...)...)
	check.Contains(s, out, want, "once", strings.Join(args, " "))
	return out
}

// ends runs a command that ends with a code and a text, and writes nothing.
func (s *storeScene) ends(code int, says string, args ...string) {
	s.Helper()
	before := s.all()
	if r := s.run(s.with(args...)...); r.code != code || !strings.Contains(r.err, says) {
		s.Errorf("once %s: exit %d, want %d and %q\n%s%s", strings.Join(args, " "), r.code, code, says, r.out, r.err)
	}
	check.Equal(s, s.all(), before, "once", strings.Join(args, " "), "has written")
}

// stored returns the records of all pages: Redis also reads past the keys of other tests.
func (s *storeScene) stored() map[string]driver.Record {
	s.Helper()
	found := map[string]driver.Record{}
	for next := ""; ; {
		page, err := s.records.Scan(s.Context(), driver.Filter{}, next)
		check.Must(s, err)
		for _, e := range page.Entries {
			found[e.ID] = e.Record
		}
		if next = page.Next; next == "" {
			return found
		}
	}
}

// all returns the records as one text.
func (s *storeScene) all() string {
	s.Helper()
	return fmt.Sprint(s.stored())
}

func (s *storeScene) claim(id string, lease time.Duration) driver.Record {
	s.Helper()
	r := driver.Record{ID: id, Status: driver.InProgress, Owner: "owner of " + id, Attempt: 1, Fingerprint: "f1",
		Lease: time.Now().Add(lease), Expires: time.Now().Add(24 * time.Hour)}
	plant(s.T, s.records, r)
	return r
}

func (s *storeScene) finish(id, data string) {
	s.Helper()
	c := driver.Change{Status: driver.Completed, Data: []byte(data), Expires: time.Now().Add(time.Hour)}
	if _, ok, err := s.records.Change(s.Context(), driver.Fence{ID: id, Owner: s.claim(id, time.Hour).Owner}, c); !ok || err != nil {
		s.Fatal(ok, err)
	}
}

func (s *storeScene) get(id string) driver.Record {
	s.Helper()
	r, err := s.records.Get(s.Context(), id)
	check.Must(s, err)
	return r
}

func TestRecordsAreShown(t *testing.T) {
	onStores(t, func(s *storeScene) {
		s.claim("pay#running", time.Hour)
		s.claim("pay#lapsed", -time.Hour)
		s.claim("pay#10m", -10*time.Minute)
		s.finish("ship#done", `{"name":"Ada"}`)
		s.prints("status       INPROGRESS, running", "inspect", "pay#running")
		check.Lacks(s, s.prints(`"data":"text of 14 bytes, SHA-256 `, "inspect", "--json", "ship#done"), "Ada", "inspect shows the result")
		s.prints("\n{\"name\":\"Ada\"}\n", "inspect", "--data", "ship#done")
		s.ends(cli.CodeNoRecord, "no record pay#1 in ", "inspect", "pay#1")
		if out := s.prints("pay#lapsed", "list"); strings.Count(out, "\n") != 5 {
			s.Errorf("list prints\n%s", out)
		}
		if out := s.prints("pay#lapsed", "list", "--older-than", "15m"); strings.Contains(out, "pay#running") || strings.Contains(out, "pay#10m") {
			s.Errorf("list prints\n%s", out)
		}
		check.Lacks(s, s.prints("ship#done", "list", "--operation", "ship"), "pay#", "list")
		var counted struct{ Operations []record.OperationStats }
		check.Must(s, json.Unmarshal([]byte(s.ok(s.with("stats", "--json")...)), &counted))
		if len(counted.Operations) != 2 || counted.Operations[0].InProgress != 3 || counted.Operations[0].Stuck != 2 || counted.Operations[1].Bytes.Total == 0 {
			s.Errorf("stats counts %+v", counted.Operations)
		}
		s.prints("lapsed ", "list", "--state", "in-progress")
		s.prints("ok ", "check")
	})
}

// A record whose owner may run is written only with --force.
func TestLiveLeaseNeedsForce(t *testing.T) {
	for _, args := range [][]string{{"release"}, {"release", "--delete"}, {"resolve", "--completed", "--no-result"}, {"resolve", "--failed", "no"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			onStores(t, func(s *storeScene) {
				args := append([]string{args[0], "pay#1", "--yes"}, args[1:]...)
				s.claim("pay#1", time.Hour)
				s.ends(cli.CodeRefused, "a call runs it until", args...)
				if r := s.run(s.with(append(args, "--force")...)...); r.code != 0 || !strings.Contains(r.err, "With --force, although a call runs it until ") {
					s.Errorf("exit %d\n%s", r.code, r.err)
				}
				if r := s.get("pay#1"); r.Status == driver.InProgress && r.Owner != "" {
					s.Errorf("the record is %+v", r)
				}
			})
		})
	}
}

// The skew of the functions' clocks is the owner's.
func TestLeaseWithinTheSkewIsLive(t *testing.T) {
	onStores(t, func(s *storeScene) {
		s.claim("pay#1", -30*time.Second)
		s.ends(cli.CodeRefused, "a call runs it until", "release", "pay#1", "--yes", "--clock-skew", "1h")
		s.prints("but counts as live for the clock skew of 1h0m0s\n", "inspect", "pay#1", "--clock-skew", "1h")
		s.prints("released: pay#1", "release", "pay#1", "--yes")
		if r := s.get("pay#1"); r.Owner != "" || !r.Lease.Equal(driver.LeaseEnded) || r.Attempt != 1 || r.Refunds != 1 || r.Fingerprint != "f1" {
			s.Errorf("the record is %+v", r)
		}
		s.ends(cli.CodeRefused, "released already", "release", "pay#1", "--yes")
	})
}

// An owner that is late, and its heartbeat, win against a person who reads.
func TestRecordThatTheOwnerChangesMeanwhileIsNotWritten(t *testing.T) {
	for name, change := range map[string]driver.Change{
		"heartbeat": {Lease: time.Now().Add(time.Hour), Expires: time.Now().Add(2 * time.Hour)},
		"step":      {Steps: map[string][]byte{"charge": []byte("=1")}},
		"result":    {Status: driver.Completed, Data: []byte("1"), Expires: time.Now().Add(2 * time.Hour)},
	} {
		for _, args := range [][]string{{"release"}, {"release", "--delete"}, {"resolve", "--failed", "no"}} {
			t.Run(name+" "+strings.Join(args, " "), func(t *testing.T) {
				onStores(t, func(s *storeScene) {
					r := s.claim("pay#1", -time.Hour)
					var left driver.Record
					ran := s.between(s.with(append([]string{args[0], "pay#1"}, args[1:]...)...), func() {
						if _, ok, err := s.records.Change(s.Context(), driver.Fence{ID: r.ID, Owner: r.Owner}, change); !ok || err != nil {
							s.Error(ok, err)
						}
						left = s.get("pay#1")
					})
					if ran.code != cli.CodeChanged || !strings.Contains(ran.err, "has changed since it was shown; nothing was written") {
						s.Errorf("exit %d\n%s", ran.code, ran.err)
					}
					check.Contains(s, ran.err, "\nIt is now:\nrecord       pay#1\n")
					if got := s.get("pay#1"); fmt.Sprint(got) != fmt.Sprint(left) {
						s.Errorf("the record is %+v, was %+v", got, left)
					}
				})
			})
		}
	}
}

// All calls get the operator's answer, and the key that is released runs once more.
func TestRecordsAreSettledForCalls(t *testing.T) {
	onStores(t, func(s *storeScene) {
		x, err := idempotent.New("pay", s.records, &idempotent.Config{MaxAttempts: 1})
		check.Must(s, err)
		runs := 0
		call := func(result error) (receipt, error) {
			return idempotent.Do(s.Context(), x, idempotent.Key{Scope: "ada", ID: "order-1"}, func(context.Context) (receipt, error) {
				runs++
				return receipt{ID: "p"}, result
			})
		}
		if _, err := call(errCrash); err == nil {
			s.Fatal("it did not fail")
		}
		if _, err := call(nil); err == nil || runs != 1 {
			s.Fatalf("%d runs, %v", runs, err)
		}
		key := []string{"order-1", "--operation", "pay", "--scope", "ada", "--yes"}
		s.ok(s.with(append([]string{"release"}, key...)...)...)
		if _, err := call(errCrash); err == nil || runs != 2 {
			s.Fatalf("after a release %d runs, %v", runs, err)
		}
		if _, err := call(nil); !errors.Is(err, idempotent.ErrOutcomeUnknown) || runs != 2 {
			s.Errorf("one release is one more run, and not %d: %v", runs-1, err)
		}
		r := s.typing(`{"id":"p-7"}`, s.with(append([]string{"resolve", "--completed", "--data", "-", "--retention", "24h"}, key...)...)...)
		if got, err := call(nil); r.code != 0 || err != nil || got.ID != "p-7" || runs != 2 {
			s.Errorf("exit %d, %d runs, the call got %v, %v\n%s", r.code, runs, got, err, r.err)
		}
		s.ends(cli.CodeRefused, "the record is finished", append([]string{"release", "--force"}, key...)...)
		s.ends(cli.CodeRefused, "work of this record is finished", append([]string{"release", "--delete"}, key...)...)
		s.ok(s.with(append([]string{"release", "--delete", "--force", "--json"}, key...)...)...)
		if got, err := call(nil); err != nil || got.ID != "p" || runs != 3 {
			s.Errorf("after a deletion %d runs, %v, %v", runs, got, err)
		}
	})
}

// No server is at port 1, and a part of a password may be read as anything.
func TestPasswordIsNeverPrinted(t *testing.T) {
	t.Parallel()
	s := &scene{T: t}
	for store, connections := range map[string][]string{
		"--redis": {
			"redis://ada:s3cret@127.0.0.1:1/0", "redis://ada:s3cret@127.0.0.1:x/0", "redis://ada:s3cret/x@127.0.0.1:1", "redis://ada:x/s3cret@127.0.0.1:1",
			"redis://ada:%zzs3cret@127.0.0.1:1/0", "ada:s3cret@127.0.0.1:1", "redis://ada:1#s3cret@127.0.0.1:1", "redis://127.0.0.1:1/0?password=s3cret",
		},
		"--postgres": {
			"postgres://ada:s3cret@127.0.0.1:1/pay", "postgresql://ada:s3cret@127.0.0.1:1/pay?connect_timeout=never", "postgres://ada:s3cret@127.0.0.1:x/pay",
			"postgres://ada:s3cret/x@127.0.0.1:1/pay", "postgres://ada:x/s3cret@127.0.0.1:1/pay", "postgres://ada:1/s3cret@127.0.0.1:1/pay",
			"postgres://ada:1#s3cret@127.0.0.1:1/pay", "postgres://ada:1?s3cret@127.0.0.1:1/pay", "postgres://ada:x@1/s3cret@127.0.0.1:1/pay",
			"postgres://ada:%zzs3cret@127.0.0.1:1/pay", "postgres://127.0.0.1:1/pay?user=ada&password=s3cret", "ada:s3cret@127.0.0.1:1/pay",
			"host=127.0.0.1 port=1 user=ada password=s3cret dbname=pay", "host=127.0.0.1 port=1 user=ada password='s3cret",
			"host=127.0.0.1 port=1 user=ada password=a s3cret dbname=pay", "host=127.0.0.1 port=s3cret",
		},
	} {
		for _, connection := range connections {
			for _, command := range [][]string{{"list"}, {"list", "--cluster"}} {
				if store == "--postgres" {
					command = []string{"sweep", "--yes"}
				}
				r := s.process(nil, append(command, store, connection)...) // go-redis writes a log
				if r.code != cli.CodeFailed && r.code != cli.CodeUsage || strings.Contains(r.out+r.err, "s3cret") {
					t.Errorf("%s: exit %d\n%s%s", connection, r.code, r.out, r.err)
				}
			}
		}
	}
}

func TestPostgresInitCreatesATableThatCheckAccepts(t *testing.T) {
	s := newPostgresScene(t, "other", nil)
	flags := []string{"--postgres", s.url, "--table", "records"}
	if r := s.run(append([]string{"check"}, flags...)...); r.code != cli.CodeNotRight || !strings.Contains(r.out, "run once postgres init") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if out := s.ok("postgres", "init", "--print", "--table", "records"); !strings.HasPrefix(out, `CREATE TABLE IF NOT EXISTS "records" (`) || !strings.HasSuffix(out, ";\n") {
		t.Error(out)
	}
	for range 2 {
		s.ok(append([]string{"postgres", "init"}, flags...)...)
	}
	got := s.found(0, append([]string{"check"}, flags...)...)
	for _, name := range []string{"server", "table", "index", "SELECT", "INSERT", "UPDATE", "DELETE", "isolation", "timeouts"} {
		check.Equal(t, got[name].Verdict, checks.Fine, name, got[name])
	}
	s.exec("ALTER TABLE records DROP COLUMN steps")
	if r := s.run(append([]string{"postgres", "init"}, flags...)...); r.code != cli.CodeFailed {
		t.Errorf("a table without a column: exit %d\n%s", r.code, r.err)
	}
}

// found returns the findings of a check by their names.
func (s *scene) found(code int, args ...string) map[string]checks.Finding {
	s.Helper()
	r := s.run(append(args, "--json")...)
	var all []checks.Finding
	if err := json.Unmarshal([]byte(r.out), &all); err != nil || r.code != code {
		s.Fatalf("exit %d, want %d: %v\n%s%s", r.code, code, err, r.out, r.err)
	}
	byName := map[string]checks.Finding{}
	for _, f := range all {
		byName[f.Check] = f
	}
	return byName
}

func TestCheckOfPostgreSQLFindsWhatIsWrong(t *testing.T) {
	s := newPostgresScene(t, "idempotency", nil)
	s.exec("DROP INDEX idempotency_expires")
	s.exec("CREATE ROLE operator_reads LOGIN")
	t.Cleanup(func() {
		s.pool.Exec(context.WithoutCancel(t.Context()), "DROP OWNED BY operator_reads; DROP ROLE operator_reads")
	})
	s.exec("GRANT SELECT ON idempotency TO operator_reads")
	database := strings.Split(s.url[strings.LastIndex(s.url, "/")+1:], "?")[0]
	for _, set := range []string{"default_transaction_isolation = 'serializable'", "synchronous_commit = off", "idle_in_transaction_session_timeout = '7s'"} {
		s.exec("ALTER ROLE operator_reads IN DATABASE \"" + database + "\" SET " + set)
	}
	_, at, _ := strings.Cut(s.url, "@")
	got := s.found(cli.CodeNotRight, "check", "--postgres", "postgres://operator_reads@"+at)
	for name, want := range map[string]checks.Verdict{
		"server": checks.Fine, "SELECT": checks.Fine, "INSERT": checks.Wrong, "UPDATE": checks.Wrong, "DELETE": checks.Wrong, "isolation": checks.Warning, "durability": checks.Warning, "timeouts": checks.Fine,
	} {
		check.Equal(t, got[name].Verdict, want, name, got[name])
	}
	if found := s.found(0, "check", "--postgres", s.url)["index"]; found.Verdict != checks.Warning {
		t.Errorf("%+v", found)
	}
}

// A server that evicts is refused by claims, so the check says so before.
func TestCheckOfRedisFindsWhatIsWrong(t *testing.T) {
	server := redislocal.NewServer(t, &redislocal.Options{Args: []string{"--maxmemory-policy", "allkeys-lru", "--appendonly", "no"}})
	s := &scene{T: t}
	got := s.found(cli.CodeNotRight, "check", "--redis", "redis://"+server.Addr())
	if got["eviction"].Verdict != checks.Wrong || got["persistence"].Verdict != checks.Warning || got["server"].Verdict != checks.Fine {
		t.Errorf("%+v", got)
	}
	right := redislocal.NewServer(t, &redislocal.Options{Args: []string{"--maxmemory-policy", "noeviction", "--appendonly", "yes", "--appendfsync", "always"}})
	for name, f := range s.found(0, "check", "--strict", "--redis", "redis://"+right.Addr()) {
		check.Equal(t, f.Verdict, checks.Fine, name, f)
	}
}
