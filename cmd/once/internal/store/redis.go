package store

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/redis"
)

type redisFlags struct {
	url     string
	cluster bool
	options redis.Options
}

func (o *redisFlags) add(f *flag.FlagSet) {
	f.StringVar(&o.url, "redis", "", "the `URL` of Redis or Valkey, such as redis://user@host:6379/0, or env for $REDIS_URL; a password may be in $REDISCLI_AUTH")
	f.BoolVar(&o.cluster, "cluster", false, "the server is a node of a cluster, with --redis")
	f.StringVar(&o.options.Prefix, "key-prefix", "", "the `text` of Options.Prefix, with --redis; without it, once:")
}

// client returns a client that sends nothing twice: a script whose answer was lost may
// have been applied. The texts of its errors may contain a part of the password, so they
// are not printed. The end of ctx closes its connections, as go-redis would wait on.
func (o *redisFlags) client(ctx context.Context, w *Waits) (goredis.UniversalClient, error) {
	url, from := o.url, "--redis"
	if url == FromEnvironment {
		if url, from = os.Getenv("REDIS_URL"), "REDIS_URL"; url == "" {
			return nil, cli.Endf(cli.CodeUsage, "--redis env: set REDIS_URL")
		}
	}
	const never = -1
	wrong := cli.Endf(cli.CodeUsage, "%s is not a URL such as redis://user@host:6379/0; write special characters of a password as %%2F, or set REDISCLI_AUTH", from)
	password := os.Getenv("REDISCLI_AUTH")
	waitFor := func(node *goredis.Client) {
		node.AddHook(&waitingHook{w, server{node.Options().Addr, causeRedis}, func(conn net.Conn) {
			context.AfterFunc(ctx, func() { _ = conn.Close() })
		}})
	}
	if o.cluster {
		options, err := goredis.ParseClusterURL(url)
		if err != nil || misread(url) {
			return nil, wrong
		}
		options.MaxRetries, options.ContextTimeoutEnabled, options.Password = never, true, cmp.Or(options.Password, password)
		options.DialTimeout, options.ReadTimeout, options.WriteTimeout, options.PoolTimeout = w.Timeout, w.Timeout, w.Timeout, w.Timeout
		cluster := goredis.NewClusterClient(options)
		cluster.OnNewNode(waitFor)
		return cluster, nil
	}
	options, err := goredis.ParseURL(url)
	if err != nil || misread(url) {
		return nil, wrong
	}
	options.MaxRetries, options.ContextTimeoutEnabled, options.Password = never, true, cmp.Or(options.Password, password)
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout, options.PoolTimeout = w.Timeout, w.Timeout, w.Timeout, w.Timeout
	client := goredis.NewClient(options)
	waitFor(client)
	return client, nil
}

func (o *redisFlags) open(ctx context.Context, w *Waits) (*Store, error) {
	client, err := o.client(ctx, w)
	if err != nil {
		return nil, err
	}
	records, err := redis.New(client, &o.options)
	if err != nil {
		return nil, cli.Misuse(err)
	}
	r := &RedisServer{client, records, cmp.Or(o.options.Prefix, "once:")}
	return &Store{Operable: records, Place: "Redis under " + cli.Printable(r.Prefix), Behind: r}, nil
}

type RedisServer struct {
	Client  goredis.UniversalClient
	Records *redis.Store
	Prefix  string
}

func (r *RedisServer) Where(context.Context) (string, error) {
	at := ""
	switch c := r.Client.(type) {
	case *goredis.Client:
		at = fmt.Sprintf("%s, database %d", c.Options().Addr, c.Options().DB)
	case *goredis.ClusterClient:
		at = "the cluster of " + strings.Join(c.Options().Addrs, ", ")
	}
	return fmt.Sprintf("Redis under %s in %s", cli.Printable(r.Prefix), at), nil
}

// size counts the keys of other programs, too.
func (r *RedisServer) size(ctx context.Context) (is extent, err error) {
	is.items, err = r.Client.DBSize(ctx).Result()
	return is, err
}
