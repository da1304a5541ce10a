package soak

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/lambda-once/once/proof/soak/internal/job"
)

// backlog contains what has to be sent again, each not before its time.
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

// all removes all items, due or not.
func (b *backlog[T]) all() (items []T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.list {
		items = append(items, p.item)
	}
	b.list = nil
	return items
}

// ring contains the latest requests, of which duplicates are made.
type ring struct {
	mu   sync.Mutex
	list []job.Request
	next int
}

const ringSize = 128

func (r *ring) add(request job.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) < ringSize {
		r.list = append(r.list, request)
		return
	}
	r.list[r.next] = request
	r.next = (r.next + 1) % ringSize
}

func (r *ring) any(random *rand.Rand) (request job.Request, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) == 0 {
		return request, false
	}
	return r.list[random.IntN(len(r.list))], true
}
