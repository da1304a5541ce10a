// Package redis stores the records of package idempotent in Redis or Valkey. It is a
// module of its own.
//
//	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
//	store, err := onceredis.New(client, nil)
//
// Every write is one Lua script on one key, which compares the record and writes it
// without anything in between. A claim is a round trip, a completion is one, and so is a
// duplicate: a script whose condition fails returns the stored record. The store works on
// one server, behind Sentinel and on a cluster. A server receives each script once, and
// its hash from then on.
//
// # Limits of the guarantee
//
// Redis copies writes to its replicas after it has answered. A failover can therefore lose
// a claim that was answered, and a second caller runs. It can also lose a result, and the
// next caller runs again. Options.Replicas makes both less likely, and does not exclude
// them. Do not use this store where a repetition costs money, unless the effect has a
// guard of its own, such as a downstream key. Package dynamo has no such gap.
//
// The same holds for a server that restarts without its last writes: records live as long
// as the server's memory, or as its append-only file with "appendfsync always".
//
// # Memory
//
// A server that evicts keys would drop live claims. Claims and takeovers are therefore
// refused with an [EvictionError] unless the maxmemory-policy of the server that they
// write to is noeviction. The script of a claim reads it when the store meets a server for
// the first time, as after a failover, and when ten seconds have passed: a policy that is
// changed while the server runs is noticed that late. If the server does not tell, the store
// writes a line to [slog.Default], once. With the memory full, claims are throttled. Running
// calls can still extend, complete and release theirs.
//
// # Records
//
// A record is a hash under the key Options.Prefix and its id. Steps are fields of the
// hash, and all bytes come back as they were written. The server deletes a key three hours
// after the end of the record's retention and lease, and never sooner than three hours
// after its last write. Expiry is decided by the clocks of the callers, as everywhere.
//
// # Commands
//
// The user of the client needs EVAL, EVALSHA, INFO, and the commands of the scripts on the
// keys of the prefix: DEL, HDEL, HGET, HGETALL, HINCRBY, HKEYS, HSET, HSETNX, PERSIST,
// PEXPIREAT and TIME. Options.Replicas also needs WAIT. Without INFO, claims are not checked
// for evictions.
package redis
