package seal

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// flights has callers that ask for the same thing at the same time share one
// request for it. It goes on while one of them waits: the caller that happened
// to be the first may leave.
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

// longestFlight keeps a request that hangs from holding all who come later.
const longestFlight = 10 * time.Second

func (a *flights[K, V]) do(ctx context.Context, key K, ask func(context.Context) (V, error)) (V, error) {
	var none V
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	f := a.board(ctx, key, ask)
	select {
	case <-f.landed:
		return f.value, f.err
	case <-ctx.Done():
		a.leave(key, f)
		return none, context.Cause(ctx)
	}
}

func (a *flights[K, V]) board(ctx context.Context, key K, ask func(context.Context) (V, error)) *flight[V] {
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
		go a.fly(ctx, key, f, ask)
	}
	f.waiting++
	return f
}

// fly lands however the request ends. A panic must not end the process, as it
// would in a goroutine that no caller can recover.
func (a *flights[K, V]) fly(ctx context.Context, key K, f *flight[V], ask func(context.Context) (V, error)) {
	returned := false
	defer func() {
		if p := recover(); p != nil {
			f.err = fmt.Errorf("seal: the source of keys panicked: %v", p)
		} else if !returned {
			f.err = fmt.Errorf("seal: the source of keys ended its goroutine")
		}
		f.cancel()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.drop(key, f)
		close(f.landed)
	}()
	f.value, f.err = ask(ctx)
	returned = true
}

// leave ends a request of which nobody awaits the answer. Under one lock with
// the decision that it does, as nobody may board it any more.
func (a *flights[K, V]) leave(key K, f *flight[V]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f.waiting--; f.waiting == 0 {
		a.drop(key, f)
		f.cancel()
	}
}

// drop has the next caller ask anew.
func (a *flights[K, V]) drop(key K, f *flight[V]) {
	if a.byKey[key] == f {
		delete(a.byKey, key)
	}
}
