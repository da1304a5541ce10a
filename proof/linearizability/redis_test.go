package linearizability

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
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
		t.Cleanup(func() { check.Nil(t, client.Close()) })
		var c redis.Client = client
		if between != nil {
			c = between(c)
		}
		s, err := redis.New(c, &redis.Options{Prefix: prefix})
		check.Must(t, err)
		return onlyUnavailable(s)
	}
}

// DialHook implements [goredis.Hook].
func (w *redisWire) DialHook(next goredis.DialHook) goredis.DialHook { return next }

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

// redisWire is a proxy in front of a Redis server. It drops commands and answers, delays
// commands and doubles them, and cuts connections after sending. It sees every copy, those
// of the client's own retries, too.
type redisWire struct {
	*wire.Proxy
	fateful
	calm bool

	mu  sync.Mutex
	ops map[string]*op // by the bytes of their command
}

func newRedisWire(t *testing.T, server string, faults bool) *redisWire {
	w := &redisWire{calm: !faults, ops: make(map[string]*op)}
	w.Proxy = proxied(t, wire.Redis, server, w.carry)
	return w
}

// expect notes for which request a command is sent.
func (w *redisWire) expect(args []any, o *op) {
	var command bytes.Buffer
	fmt.Fprintf(&command, "*%d\r\n", len(args))
	for _, arg := range args {
		text := fmt.Sprint(arg)
		fmt.Fprintf(&command, "$%d\r\n%s\r\n", len(text), text)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ops[command.String()] = o
}

func (w *redisWire) opOf(command []byte) *op {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ops[string(command)]
}

func (w *redisWire) carry(r *wire.Request) (*wire.Response, error) {
	o := w.opOf(r.Body)
	if o == nil {
		return r.Send()
	}
	f := pass
	if !w.calm {
		f = o.history.fate()
	}
	return w.fateful.carry(f, r, o, func(send func() (*wire.Response, error)) (*wire.Response, error) {
		o.leaves()
		res, err := send()
		if err == nil && bytes.HasPrefix(res.Body, []byte("-NOSCRIPT ")) {
			o.answered() // a server that does not know the script has not run it
		}
		return res, err
	})
}
