package redis

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// enabled are the options of a client that waits for an hour unless its context has a
// deadline.
func enabled(addr string) *redis.Options {
	return &redis.Options{Addr: addr, ContextTimeoutEnabled: true, ReadTimeout: time.Hour}
}

func create(ctx context.Context, s *Store) error {
	_, ok, err := s.Create(ctx, claim("a"), time.Now(), nil)
	if ok {
		return errors.New("ok in spite of the context")
	}
	return err
}

func extend(ctx context.Context, s *Store) error {
	later := time.Now().Add(time.Hour)
	_, ok, err := s.Change(ctx, fenceOf(claim("a")), driver.Change{Lease: later, Expires: later})
	if ok {
		return errors.New("ok in spite of the context")
	}
	return err
}

// ended makes a call whose context is cancelled, or has a deadline if its error is to be
// driver.ErrUnavailable, and returns the error.
func ended(t *testing.T, client Client, want error, call func(context.Context, *Store) error) error {
	t.Helper()
	s := storeOn(t, client, nil)
	const shortly = 20 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	if want == driver.ErrUnavailable {
		ctx, cancel = context.WithTimeout(t.Context(), shortly)
	} else {
		time.AfterFunc(shortly, cancel)
	}
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- call(ctx, s) }()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Minute):
		t.Error("the call outlives its context")
		return nil
	}
}

func TestACallReturnsWhenItsContextEnds(t *testing.T) {
	never := &redis.Options{Addr: silent(t), ReadTimeout: time.Hour}
	cancelled := enabled(silent(t))
	cancelled.ReadTimeout = 40 * time.Millisecond // the read that waits ends with it
	noRetry := enabled(silent(t))
	noRetry.ReadTimeout, noRetry.MaxRetries = 40*time.Millisecond, -1
	for name, c := range map[string]struct {
		options *redis.Options
		want    error
		call    func(context.Context, *Store) error
	}{
		"a deadline":                                      {never, driver.ErrUnavailable, create},
		"cancelled":                                       {never, context.Canceled, create},
		"a deadline, with ContextTimeoutEnabled":          {enabled(silent(t)), driver.ErrUnavailable, create},
		"cancelled, with ContextTimeoutEnabled":           {cancelled, context.Canceled, create},
		"cancelled, with it and without retries":          {noRetry, context.Canceled, create},
		"cancelled, an extension of a handler that ended": {enabled(silent(t)), context.Canceled, extend},
	} {
		t.Run(name, func(t *testing.T) {
			client := redis.NewClient(c.options)
			check.Is(t, ended(t, client, c.want, c.call), c.want)
			check.Nil(t, client.Close())
		})
	}
}

// where tells on which stack a client sends its commands.
type where struct{ stack chan string }

func (w where) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w where) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (w where) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		w.stack <- string(debug.Stack())
		return next(ctx, cmd)
	}
}

// A client that does not end at a deadline by itself sends on a goroutine, which may outlive
// the call. A cluster's client waits for the list of commands, whatever the context says.
func TestOnlyAClientThatEndsAtDeadlinesNeedsNoGoroutine(t *testing.T) {
	addr := silent(t)
	with := func(change func(*redis.Options)) *redis.Client {
		o := enabled(addr)
		change(o)
		return redis.NewClient(o)
	}
	for name, c := range map[string]struct {
		client    redis.UniversalClient
		call      func(context.Context, *Store) error
		goroutine bool
	}{
		"a deadline":                    {redis.NewClient(enabled(addr)), create, false},
		"an extension":                  {redis.NewClient(enabled(addr)), extend, true},
		"without ContextTimeoutEnabled": {with(func(o *redis.Options) { o.ContextTimeoutEnabled = false }), create, true},
		"without a ReadTimeout":         {with(func(o *redis.Options) { o.ReadTimeout, o.WriteTimeout = -1, time.Hour }), create, true},
		"reads without a deadline":      {with(func(o *redis.Options) { o.ReadTimeout, o.WriteTimeout = -2, time.Hour }), create, true},
		"writes without a deadline":     {with(func(o *redis.Options) { o.WriteTimeout = -2 }), create, true},
		"a cluster":                     {redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}, ContextTimeoutEnabled: true}), create, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := where{stack: make(chan string, 10)}
			c.client.AddHook(w)
			check.Is(t, ended(t, c.client, driver.ErrUnavailable, c.call), driver.ErrUnavailable)
			check.Equal(t, !strings.Contains(<-w.stack, "redis.ended."), c.goroutine, "on a goroutine of its own")
			check.Nil(t, c.client.Close())
		})
	}
}
