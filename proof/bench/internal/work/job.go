// Package work is what a worker does: a process that makes calls in one way, and
// measures itself. Each series has a process of its own, so that the time of one
// runtime is not counted for another.
package work

import "time"

// A Kind is what is measured.
type Kind string

// The kinds. A repetition needs the first calls, with the same Keys, before it.
const (
	First     Kind = "first"     // calls with new keys
	Duplicate Kind = "duplicate" // the same calls again
	Conflict  Kind = "conflict"  // calls while the first with the key runs
	Cached    Kind = "cached"    // duplicates of results that the process has kept
	Memory    Kind = "memory"    // duplicates of one call, with the store in memory
	Yardstick Kind = "yardstick" // what JSON does for each of these, by itself
	Steps     Kind = "steps"     // calls with steps
	Queue     Kind = "queue"     // batches of new SQS messages
	Requeue   Kind = "requeue"   // the same batches again
	Stream    Kind = "stream"    // batches of new records of one partition key
	Restream  Kind = "restream"  // the same batches again
)

// A Case is the work of one series, and the key of its figures.
type Case struct {
	Series  string
	Kind    Kind
	Latency time.Duration // added to each round trip
	Callers int           // calls at a time
	Size    int           // records of a batch, or steps of a call
	Bytes   int           // of an encoded result; 0: a short id
	Records int           // that the table has before; 0: whatever earlier cases have left
	Metered bool          // a proxy asks for the capacity that is consumed
}

// A Job is what a worker is asked to measure.
type Job struct {
	Case
	Endpoint string
	Table    string // or the beginning of keys; DynamoDB alone has several
	Keys     string // the beginning of the keys
	Calls    int    // or batches
}

// Figures are measured of all calls of a job together.
type Figures struct {
	Wall     time.Duration
	Median   time.Duration // of a call, if it waits
	CPU      time.Duration // of the process, user and system
	Requests int           // or round trips
	Mallocs  uint64
	Bytes    uint64 // allocated

	// The runner adds these. Units are 0 unless the case is metered.
	Calls                 int
	WriteUnits, ReadUnits float64
	Scripts               int // that Redis has run
	ScriptTime            time.Duration
}
