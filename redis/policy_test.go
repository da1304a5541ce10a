package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/redis/redislocal"
)

// noteOf returns the server and the time of a store's only note.
func noteOf(t *testing.T, s *Store) (server string, at int64) {
	t.Helper()
	note, _ := s.notes.Load("")
	if _, err := fmt.Sscan(fmt.Sprint(note), &server, &at); err != nil {
		t.Fatalf("the note %q: %v", note, err)
	}
	return server, at
}

// age makes the only note of s older by seconds, as if its last claim was made then.
func age(t *testing.T, s *Store, by int64) {
	t.Helper()
	server, at := noteOf(t, s)
	s.notes.Store("", fmt.Sprint(server, " ", at-by))
}

// evict sets a policy of a server that evicts live claims.
func evict(t *testing.T, server *redislocal.Server) {
	t.Helper()
	check.Must(t, server.Client().ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err())
}

// refuses reports whether a claim is refused because of the policy.
func refuses(t *testing.T, s *Store, id string) bool {
	t.Helper()
	_, ok, err := s.Create(t.Context(), claim(id), time.Now(), nil)
	if evicts := (*EvictionError)(nil); errors.As(err, &evicts) {
		return true
	}
	if !ok || err != nil {
		t.Fatalf("a claim: ok %v, %v", ok, err)
	}
	return false
}

// noted returns a store that knows that the server does not evict.
func noted(t *testing.T, client Client) *Store {
	t.Helper()
	s := storeOn(t, client, nil)
	created(t, s, claim("first"))
	return s
}

func TestAClaimReadsThePolicyUnlessItWasReadInTheLastTenSeconds(t *testing.T) {
	server := newServer(t)
	s := noted(t, server.Client())
	known, _ := noteOf(t, s)
	evict(t, server)
	clock := func() int64 {
		now, err := server.Client().Time(t.Context()).Result()
		check.Must(t, err)
		return now.Unix()
	}
	for name, c := range map[string]struct {
		server string
		age    int64 // of the note
		reads  bool
	}{
		"now":                         {known, 0, false},
		"ten seconds ago":             {known, 10, true},
		"a day ago":                   {known, 86400, true},
		"by a clock that is set back": {known, -60, true},
		"on a different server":       {"master_replid:0123456789abcdef", 0, true},
		"never":                       {"", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			for {
				began := clock()
				s.notes.Clear()
				if c.server != "" {
					s.notes.Store("", fmt.Sprint(c.server, " ", began-c.age))
				}
				got := refuses(t, s, name)
				if got == c.reads {
					return
				}
				if c.reads || clock()-began < 10 { // otherwise the note was too old at last
					t.Fatalf("the policy is read: %v", got)
				}
			}
		})
	}
}

// The note is of the last time that the policy was read: claims do not put off the next.
func TestAClaimLeavesANoteAsItIs(t *testing.T) {
	s := noted(t, newServer(t).Client())
	age(t, s, 9)
	server, at := noteOf(t, s)
	created(t, s, claim("second"))
	if again, later := noteOf(t, s); again != server || later != at && later < at+10 {
		t.Errorf("the note was of %d, and is of %d", at, later)
	}
}

// A replica is promoted whose policy differs. The client has one address, as behind
// Sentinel or a name in DNS.
func TestAfterAFailoverThePolicyOfTheNewPrimaryCounts(t *testing.T) {
	primary, replica := replicated(t)
	evict(t, replica)
	var addr atomic.Value
	addr.Store(primary.Addr())
	client := redis.NewClient(&redis.Options{Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, addr.Load().(string))
	}})
	defer client.Close()
	s := noted(t, client)
	lapsed := created(t, patient(t, primary, ""), claim("lapsed"))
	check.Must(t, replica.Client().Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
	addr.Store(replica.Addr())
	check.Must(t, primary.Stop())
	over := driver.Change{Owner: "bob", Lease: lapsed.Lease.Add(time.Minute), Expires: lapsed.Expires}
	_, ok, err := s.Change(t.Context(), fenceOf(lapsed), over)
	if evicts := (*EvictionError)(nil); ok || !errors.As(err, &evicts) {
		t.Errorf("a takeover: ok %v, %v", ok, err)
	}
	if !refuses(t, s, "new") {
		t.Error("a claim on the new primary is applied")
	}
}

// A store remembers each primary of a cluster by itself.
func TestEachPrimaryOfAClusterHasAPolicyOfItsOwn(t *testing.T) {
	nodes := redislocal.NewCluster(t, 3)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: nodes.Addrs()})
	defer client.Close()
	s := storeOn(t, client, nil)
	bad := nodes.Nodes[2]
	evict(t, bad)
	for n := range 20 {
		id := fmt.Sprint(n)
		node, err := client.MasterForKey(t.Context(), "once:"+id)
		check.Must(t, err)
		check.Equal(t, refuses(t, s, id), node.Options().Addr == bad.Addr(), id, "is refused at", node.Options().Addr)
	}
	notes := 0
	s.notes.Range(func(_, note any) bool {
		if note != "" {
			notes++
		}
		return true
	})
	check.Equal(t, notes, 2, "notes, which are those of 2 primaries")
}

// A claim that relies on a note sends INFO once, for the section that names the server.
func TestAClaimWithANoteDoesNotReadThePolicy(t *testing.T) {
	server := newServer(t)
	s := noted(t, server.Client())
	infos := func() (calls int) {
		t.Helper()
		info, err := server.Client().InfoMap(t.Context(), "commandstats").Result()
		check.Must(t, err)
		_, err = fmt.Sscanf(info["Commandstats"]["cmdstat_info"], "calls=%d", &calls)
		check.Must(t, err)
		return calls
	}
	before := infos()
	_, at := noteOf(t, s)
	created(t, s, claim("second"))
	got := infos() - before - 1 // this reading counts as well
	if _, later := noteOf(t, s); later == at && got != 1 {
		t.Errorf("a claim sends INFO %d times, want 1", got)
	}
}
