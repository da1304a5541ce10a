package redis

import (
	"context"
	"embed"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/driver"
)

//go:embed script
var sources embed.FS

// A script is one transition of a record.
type script struct {
	name   string
	source string
	hash   string
	claims bool // it asks for the eviction policy
}

type scripts struct {
	apply, create, delete, extend, finish, get, inspect, keep, step, takeOver *script
}

func newScripts(replicated bool) scripts {
	read := func(name string) string {
		b, err := sources.ReadFile("script/" + strings.ReplaceAll(name, " ", "") + ".lua")
		if err != nil {
			panic(err) // every test makes a store
		}
		return string(b)
	}
	prelude := fmt.Sprintf("local replicated = %v\n%s", replicated, read("prelude"))
	load := func(name string, parts ...string) *script {
		source := prelude
		for _, part := range append(parts, name) {
			source += read(part)
		}
		return &script{name: name, source: source, hash: redis.NewScript(source).Hash(), claims: slices.Contains(parts, "policy")}
	}
	return scripts{
		create: load("create", "policy"), delete: load("delete", "fence"), extend: load("extend", "fence"),
		finish: load("finish", "fence"), get: load("get"), inspect: load("inspect"), keep: load("keep", "fence"),
		apply: load("apply"), step: load("step", "fence"), takeOver: load("take over", "fence", "policy"),
	}
}

// The first element of a script's answer.
const (
	codeMet     = 0 // the condition does not hold; the record follows
	codeApplied = 1
	codeEvicts  = 2 // nothing is written; the policy follows
	codeUnknown = 3 // applied by a server that does not tell its policy
)

// run runs a script on the record with this id, and returns the record in its answer.
func (s *Store) run(ctx context.Context, sc *script, id string, args []any) (driver.Record, bool, error) {
	code, hash, err := s.ask(ctx, sc, id, args)
	switch {
	case err != nil:
		return driver.Record{}, false, err
	case code == codeEvicts:
		return driver.Record{}, false, evicts(hash)
	case code == codeUnknown:
		s.warn.Do(func() {
			slog.WarnContext(ctx, "redis: the server does not tell its maxmemory-policy; allow INFO, or make sure that it is noeviction: any other evicts live claims")
		})
	}
	r, err := record(id, hash)
	if err != nil {
		return driver.Record{}, false, s.fail(sc.name, err)
	}
	return r, code == codeApplied || code == codeUnknown, nil
}

// ask runs a script on the record with this id, and returns its answer: a code, a note of a
// claim that is applied, the record that was met, or a code and what follows it.
func (s *Store) ask(ctx context.Context, sc *script, id string, args []any) (code int64, rest []any, err error) {
	v, err := s.call(ctx, sc, s.options.Prefix+id, args)
	if err != nil {
		return 0, nil, s.fail(sc.name, err)
	}
	switch v := v.(type) {
	case int64:
		return v, nil, nil
	case string:
		return codeApplied, nil, nil
	case []any:
		if len(v) == 0 {
			return codeMet, nil, nil
		}
		code, ok := v[0].(int64)
		if !ok {
			return codeMet, v, nil
		}
		if len(v) > 1 {
			rest, _ = v[1].([]any)
		}
		return code, rest, nil
	}
	return 0, nil, s.fail(sc.name, fmt.Errorf("an answer of type %T", v))
}

// send sends a script by its hash and, if the server does not know that, whole. That of an
// operator is sent whole: the server hardly ever knows it.
func (s *Store) send(ctx context.Context, sc *script, key string, args []any) (any, error) {
	if sc == s.scripts.inspect {
		return s.eval(ctx, Client.Eval, sc.source, key, args)
	}
	v, err := s.eval(ctx, Client.EvalSha, sc.hash, key, args)
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		v, err = s.eval(ctx, Client.Eval, sc.source, key, args)
	}
	return v, err
}

// A method is one of [Client].
type method func(c Client, ctx context.Context, script string, keys []string, args ...any) *redis.Cmd

func (s *Store) eval(ctx context.Context, m method, script, key string, args []any) (any, error) {
	if s.options.Replicas > 0 {
		return s.evalAndWait(ctx, m, script, key, args)
	}
	return m(s.client, ctx, script, []string{key}, args...).Result()
}
