package seal

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// flights makes callers that need the same value at the same time share one
// request. The request continues while at least one of them waits, which need
// not be the caller that started it.
type flights[K comparable, V any] struct {
	mu    sync.Mutex
	byKey map[K]*flight[V]
}

type flight[V any] struct {
	cancel  context.CancelFunc
	waiting int
	landed  chan struct{}
	value   V // both are set before landed is closed
	err     error
}

// longestFlight limits a request that hangs, so that it does not block all later
// callers.
const longestFlight = 10 * time.Second

func (a *flights[K, V]) do(ctx context.Context, key K, fetch func(context.Context) (V, error)) (V, error) {
	var none V
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	f := a.board(ctx, key, fetch)
	select {
	case <-f.landed:
		return f.value, f.err
	case <-ctx.Done():
		a.leave(key, f)
		return none, context.Cause(ctx)
	}
}

func (a *flights[K, V]) board(ctx context.Context, key K, fetch func(context.Context) (V, error)) *flight[V] {
	a.mu.Lock()
	defer a.mu.Unlock()
	f, ok := a.byKey[key]
	if !ok {
		f = &flight[V]{landed: make(chan struct{})}
		if a.byKey == nil {
			a.byKey = map[K]*flight[V]{}
		}
		a.byKey[key] = f
		ctx, f.cancel = context.WithTimeout(context.WithoutCancel(ctx), longestFlight)
		go a.fly(ctx, key, f, fetch)
	}
	f.waiting++
	return f
}

// fly makes the request, and always sets a result. It recovers a panic: no caller
// could recover one in this goroutine, and the process would exit.
func (a *flights[K, V]) fly(ctx context.Context, key K, f *flight[V], fetch func(context.Context) (V, error)) {
	returned := false
	defer func() {
		if p := recover(); p != nil {
			f.err = fmt.Errorf("seal: the source of keys panicked: %v", p)
		} else if !returned {
			f.err = fmt.Errorf("seal: the source of keys called runtime.Goexit")
		}
		f.cancel()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.drop(key, f)
		close(f.landed)
	}()
	f.value, f.err = fetch(ctx)
	returned = true
}

// leave cancels the request if no other caller waits for it. It decides and
// cancels under one lock, so that no caller can board in between.
func (a *flights[K, V]) leave(key K, f *flight[V]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f.waiting--; f.waiting == 0 {
		a.drop(key, f)
		f.cancel()
	}
}

// drop removes f, so that the next caller makes a new request.
func (a *flights[K, V]) drop(key K, f *flight[V]) {
	if a.byKey[key] == f {
		delete(a.byKey, key)
	}
}
