// Package lanes runs the records of an event and decides which of them wait:
// the records of a lane run in order, lanes run at the same time, and two
// records with the same key never do.
package lanes

import "time"

// A Schedule says which records wait for which.
type Schedule struct {
	// Lanes lists the records of each lane by their index in the event, in
	// ascending order. A record in no lane waits for none.
	Lanes [][]int
	Halt  Halt
	// Duplicates lists for each record the one before it with the same key, or
	// -1. A nil slice stands for none.
	Duplicates []int
}

// Halt selects the records that do not start after a record has failed.
type Halt uint8

const (
	HaltNothing Halt = iota
	HaltLane         // later ones in its lane
	HaltEvent        // later ones in the event, in any lane
)

// InOrder returns one lane of all records.
func InOrder(size int) [][]int {
	return By(size, func(int) bool { return true })
}

// By puts records with the same name into one lane. Lanes are in the order of
// their first records.
func By[N comparable](size int, name func(i int) N) [][]int {
	places := make(map[N]int, size)
	var lanes [][]int
	for i := range size {
		n := name(i)
		place, ok := places[n]
		if !ok {
			place = len(lanes)
			places[n] = place
			lanes = append(lanes, nil)
		}
		lanes[place] = append(lanes[place], i)
	}
	return lanes
}

// Duplicates returns for each record the one before it with the same key, or
// -1. A zero key is no key. A duplicate waits in its own event until the record
// before it has ended, and then finds its result. For duplicates in other
// invocations the executor waits, up to a limit.
func Duplicates[K comparable](keys []K) []int {
	var none K
	before := make([]int, len(keys))
	last := make(map[K]int, len(keys))
	for i, k := range keys {
		before[i] = -1
		if k == none {
			continue
		}
		if j, ok := last[k]; ok {
			before[i] = j
		}
		last[k] = i
	}
	return before
}

// defaultMargin is the margin, or half of the time left if that is shorter.
const defaultMargin = time.Second

// LastStart returns the time after which no turn begins: a margin before the deadline.
// A margin of 0 stands for the default, the only one that depends on the time left.
// LastStart also returns the margin and the time left. Nothing can start if the margin
// is not shorter.
func LastStart(deadline time.Time, margin time.Duration) (lastStart time.Time, used, left time.Duration) {
	left = time.Until(deadline)
	if margin == 0 {
		margin = min(defaultMargin, left/2)
	}
	return deadline.Add(-margin), margin, left
}
