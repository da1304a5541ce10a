package handlers

import (
	"context"
	"time"

	"github.com/lambda-once/once/idempotent"
)

// twins are the records of one event that have one key: a second one waits
// until the first has ended, however long that takes, and then finds its end.
// The wait of the executor is for twins in other invocations, and is bounded.
type twins map[identity]chan struct{}

// identity is what makes two keys one.
type identity struct{ scope, id, record string }

func identityOf(k idempotent.Key) identity { return identity{k.Scope, k.ID, k.Record} }

func findTwins[D any](records []record[D]) twins {
	seen := make(map[identity]bool, len(records))
	t := twins{}
	for i := range records {
		k := identityOf(records[i].key)
		if records[i].err != nil || records[i].skip || k == (identity{}) {
			continue // without a key there is no twin
		}
		if seen[k] {
			t[k] = make(chan struct{}, 1)
		}
		seen[k] = true
	}
	return t
}

// enter waits while a twin runs, unless the time for a start goes by.
func (t twins) enter(ctx context.Context, key idempotent.Key, lastStart time.Time) (leave func(), _ error) {
	gate, ok := t[identityOf(key)]
	if !ok {
		return func() {}, nil
	}
	var late <-chan time.Time
	if !lastStart.IsZero() {
		timer := time.NewTimer(time.Until(lastStart))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, nil
	case <-late:
	case <-ctx.Done():
	}
	return nil, errOutOfTime
}
