package soak

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/lambda-once/once/proof/soak/internal/job"
)

// backlog contains items to send again, each not before its time.
type backlog[T any] struct {
	mu   sync.Mutex
	list []pending[T]
}

type pending[T any] struct {
	item T
	due  time.Time
}

func (b *backlog[T]) add(item T, after time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, pending[T]{item, time.Now().Add(after)})
}

// next removes the first item that is due.
func (b *backlog[T]) next() (item T, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, p := range b.list {
		if time.Now().After(p.due) {
			b.list = append(b.list[:i], b.list[i+1:]...)
			return p.item, true
		}
	}
	return item, false
}

// clear removes all items, due or not.
func (b *backlog[T]) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = nil
}

func (b *backlog[T]) size() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.list)
}

// recent contains the latest requests, of which duplicates are made.
type recent struct {
	mu   sync.Mutex
	list []job.Request
}

const latest = 128

func (r *recent) add(request job.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, request)
	r.list = r.list[max(0, len(r.list)-latest):]
}

func (r *recent) any(random *rand.Rand) (request job.Request, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) == 0 {
		return request, false
	}
	return r.list[random.IntN(len(r.list))], true
}
