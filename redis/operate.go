package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/driver"
)

var _ driver.Operable = (*Store)(nil)

// maxPage is about how many keys a page looks at.
const maxPage = 500

// Inspect returns a record as it is stored, for an operator: see [driver.Operable].
func (s *Store) Inspect(ctx context.Context, id string) (driver.Entry, error) {
	_, parts, err := s.ask(ctx, s.scripts.inspect, id, nil)
	if err != nil {
		return driver.Entry{}, err
	}
	if len(parts) != 2 {
		return driver.Entry{}, s.fail("inspect", fmt.Errorf("an answer of %d parts", len(parts)))
	}
	clock, _ := parts[0].([]any)
	hash, _ := parts[1].([]any)
	e := entry(id, hash)
	if len(clock) == 2 {
		var seconds int64
		if _, err := fmt.Sscan(fmt.Sprint(clock[0]), &seconds); err != nil {
			return driver.Entry{}, s.fail("inspect", err)
		}
		e.At = time.Unix(seconds, 0)
	}
	return e, nil
}

// entry returns a hash as an operator sees it.
func entry(id string, hash []any) driver.Entry {
	if len(hash) == 0 {
		return driver.Entry{}
	}
	e := driver.Entry{Size: len(id), Stored: hash}
	r, problems := readable(id, hash)
	e.Record = r
	for _, p := range problems {
		e.Problems = append(e.Problems, p.Error())
	}
	for _, v := range hash {
		text, _ := v.(string)
		e.Size += len(text)
	}
	return e
}

// nodes returns the primaries of the store's client, in a fixed order.
func (s *Store) nodes(ctx context.Context) (all []*redis.Client, err error) {
	switch c := s.client.(type) {
	case *redis.Client:
		return []*redis.Client{c}, nil
	case *redis.ClusterClient:
		var mu sync.Mutex
		err = c.ForEachMaster(ctx, func(_ context.Context, master *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, master)
			return nil
		})
		slices.SortFunc(all, func(a, b *redis.Client) int { return strings.Compare(a.Options().Addr, b.Options().Addr) })
		return all, err
	}
	return nil, &driver.ConfigError{Err: fmt.Errorf("redis: Scan needs a *redis.Client or a *redis.ClusterClient, and the client is a %T", s.client)}
}

// Scan returns a page of records, for an operator: see [driver.Operable]. It sends SCAN to
// each primary in turn, and reads the keys with the prefix. The client must
// be a *redis.Client or a *redis.ClusterClient, and its user needs SCAN, HMGET and TIME.
func (s *Store) Scan(ctx context.Context, f driver.Filter, after string) (driver.Page, error) {
	page := driver.Page{Progress: driver.Progress{Next: after}}
	nodes, err := s.nodes(ctx)
	if err != nil {
		return page, err
	}
	var at int
	var cursor uint64
	if after != "" {
		if _, err := fmt.Sscanf(after, "%d.%d", &at, &cursor); err != nil || at < 0 || at >= len(nodes) {
			return page, &driver.ConfigError{Err: errors.New("redis: the position was not returned by Scan of this store")}
		}
	}
	count := int64(maxPage)
	if f.Limit > 0 {
		count = int64(f.Limit)
	}
	keys, cursor, err := nodes[at].Scan(ctx, cursor, glob(s.options.Prefix+f.Prefix)+"*", count).Result()
	if err == nil {
		err = s.readPage(ctx, nodes[at], f, keys, &page)
	}
	if err != nil {
		return page, s.fail("scan", err)
	}
	switch page.Read = len(keys); {
	case cursor > 0:
		page.Next = fmt.Sprintf("%d.%d", at, cursor)
	case at+1 < len(nodes):
		page.Next = fmt.Sprintf("%d.0", at+1)
	default:
		page.Next = ""
	}
	return page, nil
}

// readPage reads the records under keys, and the server's time.
func (s *Store) readPage(ctx context.Context, n *redis.Client, f driver.Filter, keys []string, page *driver.Page) error {
	pipe := n.Pipeline()
	clock := pipe.Time(ctx)
	hashes := make([]*redis.Cmd, len(keys))
	for i, key := range keys {
		if f.Brief {
			hashes[i] = pipe.Do(ctx, append([]any{"HMGET", key}, brief...)...)
		} else {
			hashes[i] = pipe.Do(ctx, "HGETALL", key)
		}
	}
	// The error is that of the first command which failed. Each has its own.
	_, _ = pipe.Exec(ctx)
	var err error
	if page.At, err = clock.Result(); err != nil {
		return err
	}
	for i, key := range keys {
		v, err := hashes[i].Result()
		if redis.HasErrorPrefix(err, "WRONGTYPE") {
			continue // a key of another type is no record
		}
		if err != nil {
			return err
		}
		e := entry(strings.TrimPrefix(key, s.options.Prefix), fieldsOf(v, f.Brief))
		if e.At = page.At; e.ID != "" && f.Selects(e.Record) {
			page.Entries = append(page.Entries, e)
		}
	}
	return nil
}

// brief are the fields of a record without its results, steps and request.
var brief = []any{fieldAttempt, fieldBegan, fieldEnded, fieldExpires, fieldFingerprint, fieldLease, fieldOwner, fieldRefunds, fieldStatus}

// fieldsOf returns the fields and values of an answer, in RESP2 or RESP3.
func fieldsOf(v any, isBrief bool) (hash []any) {
	switch v := v.(type) {
	case map[any]any:
		for field, value := range v {
			hash = append(hash, field, value)
		}
	case []any:
		if !isBrief {
			return v
		}
		for i, value := range v {
			if value != nil {
				hash = append(hash, brief[i], value)
			}
		}
	}
	return hash
}

// glob quotes a text for MATCH.
func glob(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(text)
}
