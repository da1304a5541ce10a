package checks

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/idempotent/driver"
)

// redisCheck checks a server of Redis, or each primary of a cluster. It reads only.
type redisCheck struct {
	*store.RedisServer
	*Findings
}

func (c *redisCheck) usable(ctx context.Context, id string) bool {
	if cluster, ok := c.Client.(*goredis.ClusterClient); ok {
		var mu sync.Mutex
		err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *goredis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			c.server(ctx, node, " of "+node.Options().Addr)
			return nil
		})
		if err != nil {
			c.unreached("Redis", "server", err, seeRedis)
		}
	} else {
		c.server(ctx, c.Client, "")
	}
	if c.Has(Wrong) {
		return false
	}
	// A script is tried on the key of no record.
	if _, err := c.Records.Get(ctx, id); err != nil {
		_, toDo := c.repair(ctx, err)
		c.say("scripts", Wrong, err.Error(), toDo)
		return false
	}
	c.say("scripts", Fine, "the user may run them", "")
	return true
}

// deniedCommand is in the errors of the store's scripts and of servers, but not of all.
var deniedCommand = regexp.MustCompile(`needs ([A-Z]+) |the '([a-z]+)' command`)

// repair says which command the user may not run, if it is known.
func (c *redisCheck) repair(_ context.Context, err error) (Verdict, string) {
	if !errors.Is(err, driver.ErrDenied) {
		return Wrong, ""
	}
	if m := deniedCommand.FindStringSubmatch(err.Error()); m != nil {
		return Wrong, "ACL SETUSER the user +" + strings.ToLower(m[1]+m[2])
	}
	return Wrong, "allow the user the commands of docs/redis.md on the keys of the prefix"
}

const seeRedis = "see --redis, the user and the password"

func (c *redisCheck) server(ctx context.Context, client goredis.Cmdable, suffix string) {
	if err := client.Ping(ctx).Err(); err != nil {
		c.unreached("Redis", "server"+suffix, err, seeRedis)
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
		outcome{role == "", Warning, "not known: the user may not run INFO", "allow +info, which each claim reads as well"},
		outcome{role != "master", Wrong, "a replica, which refuses writes", "connect to the primary"})
	c.first("eviction"+suffix, policy,
		outcome{policy == "", Warning, "not known: claims are not checked for evictions", "allow +info"},
		outcome{policy != "noeviction", Wrong, policy + ": claims are refused, because the server may evict a live one", "set maxmemory-policy to noeviction"})
	compact := setting("hash-max-listpack-value")
	c.first("memory"+suffix, "", outcome{compact == "64", Fine, "hash-max-listpack-value 64: a record whose result is longer takes almost twice the memory", "1024 saves some 40% with results of 200 bytes"})
	c.room(ctx, client, suffix)
	fsync, always := setting("appendfsync"), "turn appendonly on, with appendfsync always"
	c.first("persistence"+suffix, "append-only file, appendfsync always",
		outcome{aof == "", Warning, "not known", "allow +info"},
		outcome{aof == "0", Warning, "no append-only file: a restart loses the last claims and results, and their calls run again", always},
		outcome{fsync == "", Warning, "append-only file; not known whether appendfsync is always", "check again as a user who may run CONFIG GET"},
		outcome{fsync != "always", Warning, "appendfsync " + fsync + ": a crash loses the last claims and results, and their calls run again", always})
	replicas, least := info("replication", "connected_slaves"), setting("min-replicas-to-write")
	c.first("replicas"+suffix, "", outcome{replicas != "" && replicas != "0", Warning,
		fmt.Sprintf("%s, min-replicas-to-write %s: a failover can lose claims and results that were answered", replicas, least),
		"give effects a downstream key; min-replicas-to-write and Options.Replicas make the loss less likely"})
}

// room compares maxmemory with the size of the records, if both are known: a user who may not
// ask for one has 0 for it, and functions need neither.
func (c *redisCheck) room(ctx context.Context, client goredis.Cmdable, suffix string) {
	limit, _ := strconv.ParseInt(client.ConfigGet(ctx, "maxmemory").Val()["maxmemory"], 10, 64)
	if limit == 0 {
		return
	}
	keys, _ := client.Scan(ctx, 0, c.Prefix+"*", 100).Val()
	records, size := client.DBSize(ctx).Val(), int64(0)
	for _, key := range keys[:min(len(keys), 20)] {
		size += client.MemoryUsage(ctx, key).Val()
	}
	if size == 0 {
		return
	}
	size /= int64(min(len(keys), 20))
	takes := fmt.Sprintf("%d keys of some %d bytes, and maxmemory has room for %d", records, size, limit/size)
	c.first("maxmemory"+suffix, takes,
		outcome{records*size > limit/5*4, Warning, takes + ": with the memory full, claims are refused", "raise maxmemory, or shorten Config.Retention"})
}
