package linearizability

import (
	"context"
	"net"
	"regexp"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/redis"
	"github.com/lambda-once/once/redis/redislocal"
)

// openRedis opens a store behind a wire. The client retries once by itself.
func openRedis(w **redisWire, faults bool, between func(redis.Client) redis.Client) func(*testing.T) driver.Store {
	return func(t *testing.T) driver.Store {
		direct, prefix := redislocal.NewClient(t)
		*w = newRedisWire(t, direct.Options().Addr, faults)
		client := goredis.NewClient(&goredis.Options{
			Addr: (*w).Addr(), Protocol: 2, PoolSize: 40, ContextTimeoutEnabled: true, MaxRetries: 1,
			MinRetryBackoff: -1, MaxRetryBackoff: -1,
		})
		client.AddHook(*w)
		t.Cleanup(func() {
			if err := client.Close(); err != nil {
				t.Error(err)
			}
		})
		var c redis.Client = client
		if between != nil {
			c = between(c)
		}
		s, err := redis.New(c, &redis.Options{Prefix: prefix})
		if err != nil {
			t.Fatal(err)
		}
		return onlyUnavailable(s)
	}
}

// DialHook implements [goredis.Hook].
func (w *redisWire) DialHook(next goredis.DialHook) goredis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook tells the wire which request of a history a command is made for. The
// client sends the same bytes again if it retries.
func (w *redisWire) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if o, ok := ctx.Value(opKey{}).(*op); ok {
			w.expect(cmd.Args(), o)
		}
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements [goredis.Hook].
func (w *redisWire) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// unfencedRedis takes the owner out of the condition of one kind of script.
type unfencedRedis struct {
	redis.Client
	script string // what only these scripts contain
}

var redisOwner = regexp.MustCompile(`and same\('owner', ARGV\[1\]\)`)

// EvalSha makes the store send every script whole, as only that shows its text.
func (c unfencedRedis) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *goredis.Cmd {
	cmd := goredis.NewCmd(ctx)
	cmd.SetErr(goredis.ErrNoScript)
	return cmd
}

func (c unfencedRedis) Eval(ctx context.Context, script string, keys []string, args ...any) *goredis.Cmd {
	if strings.Contains(script, c.script) {
		script = redisOwner.ReplaceAllString(script, "")
	}
	return c.Client.Eval(ctx, script, keys, args...)
}

func TestAWriteToRedisWithoutTheFenceIsNoticedInOneRun(t *testing.T) {
	for name, script := range map[string]string{
		"a completion": "-- Completes or fails the record",
		"an extension": "-- Prolongs the lease",
	} {
		t.Run(name, func(t *testing.T) {
			var w *redisWire
			open := openRedis(&w, false, func(c redis.Client) redis.Client { return unfencedRedis{Client: c, script: script} })
			r := newRow(t, &Options{Calm: true, Histories: 21})
			r.run(t, open(t))
			r.mustNotice(t, false)
		})
	}
}
