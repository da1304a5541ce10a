package soak

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/lambda-once/once/proof/soak/worker"
)

// backlog contains messages to send again, each not before its time, and the latest
// requests, of which duplicates are made.
type backlog struct {
	mu     sync.Mutex
	list   []delayed
	recent []worker.Request
}

type delayed struct {
	message
	due time.Time
}

const latest = 128

func (b *backlog) add(m message, after time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, delayed{m, time.Now().Add(after)})
}

// next removes the first message that is due.
func (b *backlog) next() (m message, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.list, func(d delayed) bool { return time.Now().After(d.due) })
	if i < 0 {
		return m, false
	}
	m = b.list[i].message
	b.list = slices.Delete(b.list, i, i+1)
	return m, true
}

func (b *backlog) size() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.list)
}

func (b *backlog) remember(r worker.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.recent = append(b.recent, r)
	b.recent = b.recent[max(0, len(b.recent)-latest):]
}

func (b *backlog) any(random *rand.Rand) (r worker.Request, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.recent) == 0 {
		return r, false
	}
	return b.recent[random.IntN(len(b.recent))], true
}
