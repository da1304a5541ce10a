package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
	"github.com/lambda-once/once/redis"
	"github.com/lambda-once/once/redis/redislocal"
)

// manyRecords are in the table or server before the one that is looked for.
const manyRecords = 100_000

// TestLargeTable does the same on DynamoDB, whose emulator takes a minute for so many.
var largeStores = map[string]func(t *testing.T) *storeScene{
	"PostgreSQL": func(t *testing.T) *storeScene {
		s := newPostgresScene(t, "idempotency", nil)
		s.exec(`INSERT INTO idempotency (id, status, owner, attempt, data)
			SELECT 'pay#' || encode(sha256(i::text::bytea), 'hex'), 'COMPLETED', 'o', 1, '"result"' FROM generate_series(1, $1::int) AS i`, manyRecords)
		s.exec("ANALYZE idempotency")
		return &storeScene{s.scene, s.store, []string{"--postgres", s.url}}
	},
	"Redis": func(t *testing.T) *storeScene {
		server := redislocal.NewServer(t, &redislocal.Options{Args: []string{"--maxmemory-policy", "noeviction"}})
		const each = manyRecords / 100 // no script runs long enough to be refused as hung
		for first := 1; first < manyRecords; first += each {
			check.Must(t, server.Client().Eval(t.Context(), `for i = ARGV[1], ARGV[2] do
				local key = 'once:pay#' .. redis.sha1hex(i) .. string.sub(redis.sha1hex(-i), 1, 24)
				redis.call('HSET', key, 'status', 'COMPLETED', 'owner', 'o', 'attempt', 1, 'data', '"result"')
			end
			return ''`, nil, first, first+each-1).Err())
		}
		store, err := redis.New(server.Client(), nil)
		check.Must(t, err)
		return &storeScene{&scene{T: t}, store, []string{"--redis", "redis://" + server.Addr()}}
	},
}

// A table of any size is asked once for the record that a line or an error names.
func TestRecordOfALineIsReadAtOnce(t *testing.T) {
	for name, open := range largeStores {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			id := s.conflict()
			sent := s.counted()
			inspect := func(most int32, args ...string) {
				t.Helper()
				sent.Store(0)
				s.prints("fingerprint", append([]string{"inspect"}, args...)...)
				if n := sent.Load(); n == 0 || n > most {
					t.Errorf("once inspect %s sends %d, want at most %d", strings.Join(args, " "), n, most)
				}
			}
			operation, hash, _ := strings.Cut(id, "#")
			inspect(1, id)
			inspect(1, "--operation", operation, hash) // as a line of package emf has it
			if name == "PostgreSQL" {                  // a search by the primary key; of all ids it has 100 pages
				inspect(4, "--operation", operation, hash[:12])
				inspect(4, operation+"#"+hash[:12])
			}
		})
	}
}

// conflict returns the id in the error of a call that meets a running one.
func (s *storeScene) conflict() string {
	s.Helper()
	x, err := idempotent.New("pay", s.records, &idempotent.Config{Observer: idempotent.NoObserver{}})
	check.Must(s, err)
	key := idempotent.Key{Scope: "ada", ID: "order-1", Payload: 12}
	id, err := key.RecordID("pay")
	check.Must(s, err)
	s.claim(id, time.Hour)
	key.Payload = nil
	_, err = idempotent.Do(s.Context(), x, key, func(context.Context) (int, error) { return 0, nil })
	named := regexp.MustCompile(` key (\S+) `).FindStringSubmatch(fmt.Sprint(err))
	if named == nil || named[1] != id {
		s.Fatalf("no id in %v", err)
	}
	return named[1]
}

// counted puts a proxy before the server, and counts what the command sends through it for
// records.
func (s *storeScene) counted() *atomic.Int32 {
	s.Helper()
	sent := new(atomic.Int32)
	greets := regexp.MustCompile(`(?i)\r\n(hello|client)\r\n`) // a connection of go-redis
	s.flags, _ = s.behind(func(r *wire.Request) (*wire.Response, error) {
		if r.Operation != "" && !greets.Match(r.Body) { // a pool pings, without a name, what was idle for a second
			sent.Add(1)
		}
		return r.Send()
	})
	return sent
}
