package soak

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lambda-once/once/proof/soak/worker"
)

// finding is something that the audit found wrong.
type finding struct {
	Kind string
	// Hash is that of the key, or the name of an account or a worker.
	Hash   string
	Detail string
}

type findings []finding

func (all *findings) add(kind, hash, format string, args ...any) {
	*all = append(*all, finding{kind, hash, fmt.Sprintf(format, args...)})
}

// err lists the findings, of each kind the first few.
func (all findings) err() error {
	const most = 10
	var errs []error
	seen := map[string]int{}
	for _, f := range all {
		if seen[f.Kind]++; seen[f.Kind] <= most {
			errs = append(errs, fmt.Errorf("%s: %s: %s", f.Kind, f.Hash, f.Detail))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(seen)) {
		if n := seen[kind]; n > most {
			errs = append(errs, fmt.Errorf("%s: %d more", kind, n-most))
		}
	}
	return errors.Join(errs...)
}

// What a worker may need more at the end than after a third of the time: goroutines
// of connections, and memory of caches and pools.
const (
	moreGoroutines = 16
	moreHeap       = 3 << 20
)

// flat requires that the workers need no more than after a third of the time.
func (all *findings) flat(atThird, atEnd map[string]worker.Sample) {
	for name, before := range atThird {
		after := atEnd[name]
		if after.Goroutines > before.Goroutines+moreGoroutines {
			all.add("goroutines", name, "%d after a third, %d at the end", before.Goroutines, after.Goroutines)
		}
		if after.Heap > before.Heap*5/4+moreHeap {
			all.add("heap", name, "%d bytes after a third, %d at the end", before.Heap, after.Heap)
		}
	}
}
