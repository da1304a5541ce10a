package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"regexp"
	"sync"

	goredis "github.com/redis/go-redis/v9"

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
func (o *redisFlags) client(ctx context.Context, w *waits) (goredis.UniversalClient, error) {
	url, from := o.url, "--redis"
	if url == fromEnvironment {
		if url, from = os.Getenv("REDIS_URL"), "REDIS_URL"; url == "" {
			return nil, endf(codeUsage, "--redis env: set REDIS_URL")
		}
	}
	const never = -1
	wrong := endf(codeUsage, "%s is not a URL such as redis://user@host:6379/0; write special characters of a password as %%2F, or set REDISCLI_AUTH", from)
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
		options.DialTimeout, options.ReadTimeout, options.WriteTimeout, options.PoolTimeout = w.timeout, w.timeout, w.timeout, w.timeout
		cluster := goredis.NewClusterClient(options)
		cluster.OnNewNode(waitFor)
		return cluster, nil
	}
	options, err := goredis.ParseURL(url)
	if err != nil || misread(url) {
		return nil, wrong
	}
	options.MaxRetries, options.ContextTimeoutEnabled, options.Password = never, true, cmp.Or(options.Password, password)
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout, options.PoolTimeout = w.timeout, w.timeout, w.timeout, w.timeout
	client := goredis.NewClient(options)
	waitFor(client)
	return client, nil
}

func (o *redisFlags) open(ctx context.Context, w *waits) (*store, error) {
	client, err := o.client(ctx, w)
	if err != nil {
		return nil, err
	}
	records, err := redis.New(client, &o.options)
	if err != nil {
		return nil, &ending{codeUsage, err}
	}
	return &store{Operable: records, place: "Redis under " + printable(cmp.Or(o.options.Prefix, "once:")),
		check: func(ctx context.Context, id string, _ bool, found *findings) {
			(&redisCheck{client, records, found}).all(ctx, id)
		}, size: func(ctx context.Context) (is extent, err error) {
			is.items, err = client.DBSize(ctx).Result() // with the keys of others
			return is, err
		}}, nil
}

// redisCheck checks a server of Redis, or each primary of a cluster. It reads only.
type redisCheck struct {
	client goredis.UniversalClient
	store  *redis.Store
	*findings
}

func (c *redisCheck) all(ctx context.Context, id string) {
	if cluster, ok := c.client.(*goredis.ClusterClient); ok {
		var mu sync.Mutex
		err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *goredis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			c.server(ctx, node, " of "+node.Options().Addr)
			return nil
		})
		if err != nil {
			c.unreached("server", err)
		}
	} else {
		c.server(ctx, c.client, "")
	}
	if c.has(wrong) {
		return
	}
	// A script is tried on the key of no record.
	if _, err := c.store.Get(ctx, id); err != nil {
		c.say("scripts", wrong, err.Error(), "allow the user the commands of docs/redis.md on the keys of the prefix")
		return
	}
	c.say("scripts", fine, "the user may run them", "")
}

func (c *redisCheck) unreached(check string, err error) {
	c.say(check, wrong, "it was not reached: "+err.Error(), "see --redis, the user and the password")
}

// server checks one server. suffix names it in a cluster.
func (c *redisCheck) server(ctx context.Context, client goredis.Cmdable, suffix string) {
	if err := client.Ping(ctx).Err(); err != nil {
		c.unreached("server"+suffix, err)
		return
	}
	info := func(section, field string) string {
		if m := regexp.MustCompile(`(?m)^` + field + `:([^\r\n]*)`).FindStringSubmatch(client.Info(ctx, section).Val()); m != nil {
			return m[1]
		}
		return ""
	}
	setting := func(name string) string { return client.ConfigGet(ctx, name).Val()[name] }
	role, policy, aof := info("replication", "role"), info("memory", "maxmemory_policy"), info("persistence", "aof_enabled")
	c.first("server"+suffix, "a primary",
		outcome{role == "", warning, "not known: the user may not run INFO", "allow +info, which each claim reads as well"},
		outcome{role != "master", wrong, "a replica, which refuses writes", "connect to the primary"})
	c.first("eviction"+suffix, policy,
		outcome{policy == "", warning, "not known: claims are not checked for evictions", "allow +info"},
		outcome{policy != "noeviction", wrong, policy + ": claims are refused, because the server may evict a live one", "set maxmemory-policy to noeviction"})
	compact := setting("hash-max-listpack-value")
	c.first("memory"+suffix, "", outcome{compact == "64", fine, "hash-max-listpack-value 64: a record whose result is longer takes almost twice the memory", "1024 saves some 40% with results of 200 bytes"})
	fsync, always := setting("appendfsync"), "turn appendonly on, with appendfsync always"
	c.first("persistence"+suffix, "append-only file, appendfsync always",
		outcome{aof == "", warning, "not known", "allow +info"},
		outcome{aof == "0", warning, "no append-only file: a restart loses the last claims and results, and their calls run again", always},
		outcome{fsync == "", warning, "append-only file; not known whether appendfsync is always", "have somebody check it who may"},
		outcome{fsync != "always", warning, "appendfsync " + fsync + ": a crash loses the last claims and results, and their calls run again", always})
	replicas, least := info("replication", "connected_slaves"), setting("min-replicas-to-write")
	c.first("replicas"+suffix, "", outcome{replicas != "" && replicas != "0", warning,
		fmt.Sprintf("%s, min-replicas-to-write %s: a failover can lose claims and results that were answered", replicas, least),
		"give effects a downstream key; min-replicas-to-write and Options.Replicas make the loss less likely"})
}
