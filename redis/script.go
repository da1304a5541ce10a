package redis

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/driver"
)

//go:embed script/prelude.lua
var prelude string

var (
	//go:embed script/create.lua
	createScript string
	//go:embed script/delete.lua
	deleteScript string
	//go:embed script/extend.lua
	extendScript string
	//go:embed script/finish.lua
	finishScript string
	//go:embed script/get.lua
	getScript string
	//go:embed script/inspect.lua
	inspectScript string
	//go:embed script/keep.lua
	keepScript string
	//go:embed script/settle.lua
	settleScript string
	//go:embed script/step.lua
	stepScript string
	//go:embed script/takeover.lua
	takeOverScript string
)

// A script is one transition of a record.
type script struct {
	name   string
	source string
	hash   string
}

type scripts struct {
	create, delete, extend, finish, get, inspect, keep, settle, step, takeOver *script
}

func newScripts(replicated bool) scripts {
	make := func(name, body string) *script {
		source := fmt.Sprintf("local replicated = %v\n%s%s", replicated, prelude, body)
		return &script{name: name, source: source, hash: redis.NewScript(source).Hash()}
	}
	return scripts{
		create:   make("create", createScript),
		delete:   make("delete", deleteScript),
		extend:   make("extend", extendScript),
		finish:   make("finish", finishScript),
		get:      make("get", getScript),
		inspect:  make("inspect", inspectScript),
		keep:     make("keep", keepScript),
		settle:   make("settle", settleScript),
		step:     make("step", stepScript),
		takeOver: make("take over", takeOverScript),
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
	v, err := s.call(ctx, sc, s.options.Prefix+id, args)
	if err != nil {
		return driver.Record{}, false, s.fail(sc.name, err)
	}
	answer, _ := v.([]any)
	if len(answer) != 2 {
		return driver.Record{}, false, s.fail(sc.name, fmt.Errorf("an answer of type %T", v))
	}
	code, _ := answer[0].(int64)
	hash, _ := answer[1].([]any)
	switch code {
	case codeEvicts:
		return driver.Record{}, false, evicts(hash)
	case codeUnknown:
		s.warnOnce(ctx)
	}
	r, err := record(id, hash)
	if err != nil {
		return driver.Record{}, false, s.fail(sc.name, err)
	}
	return r, code == codeApplied || code == codeUnknown, nil
}

// call sends a script, and returns when its answer is there or the context ends.
// go-redis reads an answer until its own timeouts, whatever the context says. The
// goroutine outlives the call by them at most; the fence covers a write that it still sends.
func (s *Store) call(ctx context.Context, sc *script, key string, args []any) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if ctx.Done() == nil {
		return s.send(ctx, sc, key, args)
	}
	type result struct {
		value any
		err   error
	}
	answered := make(chan result, 1)
	go func() {
		v, err := s.send(ctx, sc, key, args)
		answered <- result{v, err}
	}()
	select {
	case r := <-answered:
		return r.value, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// send sends a script by its hash and, if the server does not know that, whole.
func (s *Store) send(ctx context.Context, sc *script, key string, args []any) (any, error) {
	if s.options.Replicas > 0 {
		return s.sendAndWait(ctx, sc, key, args)
	}
	v, err := s.client.EvalSha(ctx, sc.hash, []string{key}, args...).Result()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		v, err = s.client.Eval(ctx, sc.source, []string{key}, args...).Result()
	}
	return v, err
}
