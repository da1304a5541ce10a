package redis

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/storetest"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/redis/redislocal"
)

// replicated returns a primary and its replica, which receives the primary's writes.
func replicated(t *testing.T) (primary, replica *redislocal.Server) {
	t.Helper()
	primary = newServer(t, "--repl-diskless-sync-delay", "0")
	host, port, err := net.SplitHostPort(primary.Addr())
	check.Must(t, err)
	replica = newServer(t, "--replicaof", host, port)
	for {
		n, err := primary.Client().Wait(t.Context(), 1, 100*time.Millisecond).Result()
		check.Must(t, err)
		if n == 1 {
			return primary, replica
		}
	}
}

// patient returns a store whose answers wait for the replica, however long a busy
// machine takes.
func patient(t *testing.T, primary *redislocal.Server, prefix string) *Store {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: primary.Addr(), ContextTimeoutEnabled: true, ReadTimeout: longRead})
	t.Cleanup(func() {
		check.Nil(t, client.Close())
	})
	return storeOn(t, client, &Options{Prefix: prefix, Replicas: 1, WaitTimeout: longWait})
}

const longWait, longRead = 2 * time.Minute, 3 * time.Minute

// stop stops the process of a server, and returns a function that continues it.
func stop(t *testing.T, s *redislocal.Server) (resume func()) {
	t.Helper()
	info, err := s.Client().InfoMap(t.Context(), "server").Result()
	check.Must(t, err)
	pid, err := strconv.Atoi(info["Server"]["process_id"])
	check.Must(t, err)
	signal := func(sig syscall.Signal) {
		check.Nil(t, syscall.Kill(pid, sig))
	}
	signal(syscall.SIGSTOP)
	resume = sync.OnceFunc(func() { signal(syscall.SIGCONT) })
	t.Cleanup(resume)
	return resume
}

func TestAnAnswerWaitsForReplicas(t *testing.T) {
	primary, replica := replicated(t)
	s := patient(t, primary, "")
	copied := func(status driver.Status) {
		t.Helper()
		check.Equal(t, replica.Client().HGet(t.Context(), "once:a", "status").Val(), string(status), "the replica has status")
	}
	r := created(t, s, claim("a"))
	copied(driver.InProgress)
	changed(t, s, r, completed("1"))
	copied(driver.Completed)
	check.Must(t, primary.Client().ScriptFlush(t.Context()).Err())
	if met, ok, err := s.Create(t.Context(), claim("a"), time.Now(), nil); ok || err != nil || string(met.Data) != "1" {
		t.Errorf("a duplicate: ok %v, %v, %v", ok, met, err)
	}
	if got, err := s.Get(t.Context(), "a"); err != nil || string(got.Data) != "1" {
		t.Errorf("Get: %v, %v", got, err)
	}
}

func TestConformanceOfAnswersThatWait(t *testing.T) {
	primary, _ := replicated(t)
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		s := patient(t, primary, t.Name()+":")
		return storetest.Harness{Store: s, Plant: plant(s, primary.Client()), Schedules: 20}
	})
}

// The replica is connected and does not respond. A write that it has not acknowledged is
// an answer neither to the writer nor to a duplicate on a second connection.
func TestAWriteThatNoReplicaHasAcknowledgedIsUnavailable(t *testing.T) {
	primary, replica := replicated(t)
	o := &Options{Replicas: 1, WaitTimeout: 50 * time.Millisecond}
	s, patient := storeOn(t, primary.Client(), o), patient(t, primary, "")
	created(t, patient, claim("warm"))
	resume := stop(t, replica)
	unacknowledged := func(what string, err error) {
		t.Helper()
		var short *ReplicationError
		if !errors.As(err, &short) || short.Wanted != 1 || short.Acknowledged != 0 || !errors.Is(err, driver.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, ok, err := s.Create(t.Context(), claim("a"), time.Now(), nil)
	unacknowledged("the claim", err)
	other := redis.NewClient(&redis.Options{Addr: primary.Addr()})
	defer other.Close()
	second := storeOn(t, other, o)
	_, okAgain, err := second.Create(t.Context(), claim("a"), time.Now(), nil)
	unacknowledged("a duplicate on another connection", err)
	check.False(t, ok, "ok in spite of the error")
	check.False(t, okAgain, "ok in spite of the error")
	resume()
	if met, ok, err := patient.Create(t.Context(), claim("a"), time.Now(), nil); ok || err != nil || met.Owner != "alice" {
		t.Errorf("with the replica back: ok %v, %v, %v", ok, met, err)
	}
}

// Since Redis 7.2, WAIT waits only for the writes of its own connection. Older servers do
// not show the difference.
func TestADuplicateThatWaitsWritesWhatItReads(t *testing.T) {
	server := newServer(t)
	s := storeOn(t, server.Client(), &Options{Replicas: 1, WaitTimeout: time.Millisecond})
	writes := func() string {
		t.Helper()
		info, err := server.Client().InfoMap(t.Context(), "commandstats").Result()
		check.Must(t, err)
		calls, _, _ := strings.Cut(info["Commandstats"]["cmdstat_hset"], ",")
		return calls
	}
	for range 2 {
		before := writes()
		_, _, err := s.Create(t.Context(), claim("a"), time.Now(), nil)
		var short *ReplicationError
		if after := writes(); !errors.As(err, &short) || before == after {
			t.Errorf("%v; %q writes before, %q after", err, before, after)
		}
	}
}

// A client can be left with a server that is no longer the primary. Its records may be
// old, so that it must not even answer a duplicate.
func TestAServerThatMayHaveOldRecordsAnswersNothing(t *testing.T) {
	primary, replica := replicated(t)
	r := created(t, patient(t, primary, ""), claim("a"))
	if got := replica.Client().HGet(t.Context(), "once:a", "owner").Val(); got != "alice" {
		t.Fatalf("the replica has the owner %q", got)
	}
	refuses := func(t *testing.T, server *redislocal.Server, advice string) {
		client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
		defer client.Close()
		s := storeOn(t, client, nil)
		_, _, create := s.Create(t.Context(), claim("a"), time.Now(), nil)
		_, _, change := s.Change(t.Context(), driver.Fence{ID: r.ID, Owner: "bob"}, completed("1"))
		_, get := s.Get(t.Context(), "a")
		for what, err := range map[string]error{"create": create, "change": change, "get": get} {
			var e *Error
			if !errors.As(err, &e) || !errors.Is(err, driver.ErrUnavailable) || errors.Is(err, driver.ErrThrottled) || !strings.Contains(e.Advice, advice) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	t.Run("a replica", func(t *testing.T) { refuses(t, replica, "replica") })
	t.Run("a primary without its replicas", func(t *testing.T) {
		check.Must(t, primary.Client().ConfigSet(t.Context(), "min-replicas-to-write", "2").Err())
		refuses(t, primary, "min-replicas-to-write")
	})
}

// A failover can lose a claim, as docs/redis.md says. Two callers then run, and one of
// them is refused when it completes.
func TestAFailoverCanLoseAClaimAndStillRecordsOneResult(t *testing.T) {
	primary, replica := replicated(t)
	before, after := storeOn(t, primary.Client(), nil), storeOn(t, replica.Client(), nil)
	// The replica is promoted before it receives the claim.
	check.Must(t, replica.Client().Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
	alice := created(t, before, claim("a"))
	bob := claim("a")
	bob.Owner = "bob"
	bob = created(t, after, bob)
	met, ok, err := after.Change(t.Context(), fenceOf(alice), completed("alice"))
	if ok || err != nil || met.Owner != "bob" {
		t.Errorf("the lost owner completes: ok %v, %v, %v", ok, met, err)
	}
	changed(t, after, bob, completed("bob"))
}
