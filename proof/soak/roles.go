package soak

import (
	"time"

	"github.com/lambda-once/once/proof/soak/internal/job"
)

// role is one of the workers, each with settings of its own.
type role struct {
	name     string
	settings job.Settings
	onLambda bool
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
	{name: "alone", exposure: 1, settings: job.Settings{Concurrency: 1, Ahead: -1}},
	{name: "grouped", exposure: 4, settings: job.Settings{Concurrency: 4, Group: 1, Wait: time.Second, CacheEntries: 50}},
	{name: "mortal", mortal: true, exposure: 1, settings: job.Settings{Concurrency: 1, CacheEntries: 50}},
	{name: "mortal, grouped, on Lambda", mortal: true, exposure: 10, onLambda: true, settings: job.Settings{
		Concurrency: 4, Group: 2, Unrecorded: 10, ReadFirst: true,
	}},
}
