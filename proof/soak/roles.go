package soak

import "time"

// role is one of the workers, each with settings of its own.
type role struct {
	name string
	env  []string
	// mortal: it is killed now and then. Others are stopped past their leases, and
	// live long enough to show a leak.
	mortal bool
	// exposure is how many records of a batch a kill may repeat.
	exposure int
}

const (
	lease = 2 * time.Second
	skew  = 100 * time.Millisecond
	// timeout is that of a delivery, and on Lambda also the lease.
	timeout = 4 * time.Second
	// startTimeout is the longest start of a process on a busy machine.
	startTimeout = 2 * time.Minute
)

// Of the workers that live and of those that are killed, one each has group commit. The
// first claims nothing ahead. The caches, one for each kind, are full within seconds, so
// that a leak does not look like a cache that fills.
var roles = []role{
	{name: "alone", exposure: 1, env: []string{"CONCURRENCY=1", "AHEAD=-1"}},
	{name: "grouped", exposure: 4, env: []string{"CONCURRENCY=4", "GROUP=1", "WAIT=1s", "CACHE=50"}},
	{name: "mortal", mortal: true, exposure: 1, env: []string{"CONCURRENCY=1", "CACHE=50"}},
	{name: "mortal, grouped, on Lambda", mortal: true, exposure: 10, env: []string{
		"CONCURRENCY=4", "GROUP=2", "UNRECORDED=10", "READ_FIRST=1", "AWS_LAMBDA_FUNCTION_NAME=soak",
	}},
}
