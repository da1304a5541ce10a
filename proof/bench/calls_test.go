package bench

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent"
)

// The kinds of calls.
const (
	first     = "first"     // with a new key
	duplicate = "duplicate" // with the key of a call that has finished
	conflict  = "conflict"  // with the key of a call that runs
	cached    = "cached"    // a duplicate whose result the process has kept
)

// distinct calls are repeated in turn, so that no two with the same key run at once.
const distinct = 128

// callName is the name of a benchmark of calls.
func callName(kind string, latency time.Duration, callers int, series string) string {
	return fmt.Sprintf("Calls/kind=%s/latency=%s/callers=%d/series=%s", kind, latency, callers, series)
}

func BenchmarkCalls(b *testing.B) {
	for _, latency := range latencies {
		for _, callers := range []int{1, 16, 64} {
			for _, kind := range []string{first, duplicate, conflict} {
				for _, all := range [][]*series{onCalls, onStores, onDisk} {
					for _, s := range all {
						if s.measures(kind, latency, callers) {
							s.calls(b, kind, latency, callers, nil)
						}
					}
				}
			}
		}
	}
	for _, s := range []*series{once, onCalls[5]} {
		s.calls(b, cached, 0, 1, &idempotent.Config{CacheEntries: 1000})
	}
}

// measures reports whether calls of a series are measured.
func (s *series) measures(kind string, latency time.Duration, callers int) bool {
	switch {
	case testing.Short() && latency > latencies[1]:
		return false
	case s.on == onDynamoDB:
		return kind != conflict || latency == 0
	case callers > 16:
		return false
	case s.on == onDurable:
		return kind == first && latency == 0
	case s.on == inMemory:
		return latency == 0
	}
	return latency != latencies[1]
}

// calls runs the benchmark of one series.
func (s *series) calls(b *testing.B, kind string, latency time.Duration, callers int, config *idempotent.Config) {
	name := callName(kind, latency, callers, s.name)[len("Calls/"):]
	if s.node {
		b.Run(name, func(b *testing.B) { s.nodeCalls(b, kind, latency, callers) })
		return
	}
	w := &work{}
	call, err := s.caller(latency, config, w.run)
	must(b, err)
	defer s.close()
	b.Run(name, func(b *testing.B) {
		one := func(keys string) func(i int) error {
			return func(i int) error {
				_, err := invoke(call, paymentOf(keys, i))
				return err
			}
		}
		// Connections are open, and statements prepared.
		warm := one(rand.Text())
		must(b, parallel(callers, min(callers, b.N), warm), parallel(callers, min(callers, b.N), warm))
		do, want := one(rand.Text()), expected{requests: s.roundTrips(kind)}
		switch kind {
		case first:
			want.runs = 1
		case conflict:
			n, running := min(b.N, callers), do
			release, err := w.hold(n, running)
			must(b, err)
			defer func() { must(b, release()) }()
			do = func(i int) error {
				if err := running(i % n); !errors.Is(err, idempotent.ErrInProgress) {
					return fmt.Errorf("a conflict ends with %v", err)
				}
				return nil
			}
		default:
			n, again := min(b.N, distinct), do
			must(b, parallel(callers, n, again))
			do = func(i int) error { return again(i % n) }
		}
		scripts := s.scripts(b)
		s.measure(b, callers, w, want, do)
		scripts()
	})
}

// roundTrips are those that the pages name.
func (s *series) roundTrips(kind string) int {
	switch {
	case s.on == inMemory, kind == cached:
		return 0
	case kind == first, s.byHand && s.on != onDynamoDB:
		return 2
	}
	return 1
}

// scripts begins to measure the scripts of Redis. The function that it returns reports the
// server's time for one.
func (s *series) scripts(b *testing.B) (report func()) {
	if s.on != onRedis || s.byHand {
		return func() {}
	}
	endpoint, _ := s.at(0)
	client := redis.NewClient(&redis.Options{Addr: endpoint})
	read := func() (calls, micros int) {
		info := client.InfoMap(context.Background(), "commandstats")
		must(b, info.Err())
		_, err := fmt.Sscanf(info.Item("Commandstats", "cmdstat_evalsha"), "calls=%d,usec=%d,", &calls, &micros)
		must(b, err)
		return calls, micros
	}
	calls, micros := read()
	return func() {
		after, took := read()
		b.ReportMetric(1000*float64(took-micros)/float64(after-calls), "server-ns/script")
		must(b, client.Close())
	}
}

// BenchmarkDuplicate compares a duplicate in memory, which is Once's own work, with the
// least that any library has to do: marshal the request, and unmarshal the result.
func BenchmarkDuplicate(b *testing.B) {
	alone, w, p := &series{on: inMemory}, &work{}, paymentOf("pay", 0)
	store, err := alone.store(0)
	must(b, err)
	x, err := idempotent.New("create-payment", store, nil)
	must(b, err)
	call := idempotent.Wrap(x, paymentKey, func(ctx context.Context, p payment) (payment, error) {
		_, err := w.run(ctx, p)
		return p, err
	})
	ctx := context.Background() // that of a call costs more if it can end
	_, err = call(ctx, p)
	must(b, err)
	b.Run("series=once", func(b *testing.B) {
		alone.measure(b, 1, w, expected{}, func(int) error {
			_, err := call(ctx, p)
			return err
		})
	})
	b.Run("series=json", func(b *testing.B) {
		alone.measure(b, 1, w, expected{}, func(int) error {
			raw, err := json.Marshal(p)
			if err != nil {
				return err
			}
			var result payment
			return json.Unmarshal(raw, &result)
		})
	})
}
