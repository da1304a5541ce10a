package seal

import (
	"container/list"
	"sync"
	"time"
)

// unwrapped is a cache of secrets with a maximum age. It evicts the least
// recently used ones first.
type unwrapped struct {
	max    int
	maxAge time.Duration

	mu    sync.Mutex
	byKey map[wrappedKey]*list.Element // of secret
	order *list.List                   // most recently used first
}

type secret struct {
	key  wrappedKey
	data []byte
	born time.Time
}

func newUnwrapped(entries int, maxAge time.Duration) *unwrapped {
	return &unwrapped{max: entries, maxAge: maxAge, byKey: map[wrappedKey]*list.Element{}, order: list.New()}
}

func (u *unwrapped) get(key wrappedKey) ([]byte, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	e, ok := u.byKey[key]
	if !ok {
		return nil, false
	}
	s := e.Value.(secret)
	if now().Sub(s.born) >= u.maxAge {
		u.remove(e)
		return nil, false
	}
	u.order.MoveToFront(e)
	return s.data, true
}

func (u *unwrapped) put(key wrappedKey, data []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if e, ok := u.byKey[key]; ok {
		u.remove(e)
	}
	u.byKey[key] = u.order.PushFront(secret{key, data, now()})
	if u.order.Len() > u.max {
		u.remove(u.order.Back())
	}
}

func (u *unwrapped) remove(e *list.Element) {
	delete(u.byKey, u.order.Remove(e).(secret).key)
}
