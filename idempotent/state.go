package idempotent

import (
	"context"
	"sync"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/bounds"
	"github.com/lambda-once/once/idempotent/internal/options"
	"github.com/lambda-once/once/idempotent/internal/protocol"
	"github.com/lambda-once/once/internal/form"
)

// The types of a call stand here, below the files of its way through the protocol.

// call is one call of Do on its way through the protocol.
type call struct {
	writer
	work  work
	began time.Time
	// The event will have these figures.
	attempt                           int64
	handlerTime                       time.Duration
	lapsed, joined, cached, permanent bool
	// repeated reports that the handler ran without a claim or an attachment, and
	// that the call then met a record.
	repeated bool
	// cutOff reports whether the handler, or its undo, failed after its time.
	cutOff bool
	// readsFirst reports whether to read the record before the claim.
	readsFirst bool
	// waited reports that the adapter knows of a wait for a duplicate.
	waited bool
	// options are the settings that an adapter made for the call.
	options *options.Options
	// request is the stored form of the request, with which a record is created.
	request []byte
	// finished is the record for the cache and for joined calls, or nil.
	finished *driver.Record
	// turn waits until the handler may run. It is nil without one, and once taken.
	turn func(context.Context) error
	// runs is the last run of the handler. Each may have an attachment.
	runs *handlerRun
	// abandoned is the outcome of a call whose handler panicked.
	abandoned Outcome
	sum       tally
}

// writer makes the reads and writes of one record for a call. It knows no handler,
// and settles nothing.
type writer struct {
	identity
	bounds.Bounds
	storeCalls
	// outer is the innermost handler that the call was made in, or nil.
	outer *frame
	// unacknowledged reports whether a write without a claim may still arrive.
	unacknowledged bool
	// mode is how the call holds its record, or is about to.
	mode protocol.Mode
	// execution is the holder of the record, or nil for one call.
	execution *options.Execution
}

// storeCalls calls the store, and counts the calls.
type storeCalls struct {
	x *Executor
	// now is the clock as read at the beginning and after each call to the store.
	now   time.Time
	tally *tally
}

// tally collects figures and errors for the event. The call, its heartbeat and its
// steps add to it at the same time.
type tally struct {
	mu         sync.Mutex
	roundTrips int
	spent      time.Duration
	waited     time.Duration // of spent, for other writes of the batch
	// suppressed are errors that only the observer sees, because the caller
	// receives the result or a more telling error.
	suppressed []error
}

// conclusion is how a call ends: the outcome for its event, and the error for its
// caller.
type conclusion struct {
	outcome Outcome
	err     error
	// claimFirst reports that an optimistic run wrote nothing, and that the call
	// begins again with a claim.
	claimFirst bool
}

// claiming is a claim that is being made.
type claiming struct {
	met   driver.Record // the record to decide on
	token string
	owner string    // that a claim of met has, or would have
	now   time.Time // of the decision
	lease time.Time // of a record that the call would create
	round int
	// lapsed reports whether the last write took over a lease that had lapsed.
	lapsed bool
	poll   time.Duration // the next pause of a call that waits
}

// lease is the record of a call as the call knows it: as stored, and with the writes
// since.
type lease struct {
	record driver.Record // without a claim it has no Lease
	frame  *frame
	heart  *heartbeat // of the last run
	// committed: a transaction was sent, by this lease or before it. Delayed copies
	// of the claim and the transaction could revive a record deleted now.
	committed bool
	stepped   bool // a step may be recorded
	// unclaim is how to release the record if nothing has run.
	unclaim    driver.Release
	unreleased *StoreError // why a release may not be recorded
}

// ran is the end of a run of the handler.
type ran struct {
	with driver.Attachment // to commit, or nil
	// err is the error of the handler, then of its transaction, then of undoing.
	err              error
	notRun, panicked bool
	// undoing, stopped and class are set by examine.
	undoing, stopped bool
	class            classification
	undone           protocol.Undone
	cause            error    // that the steps are, or must be, undone for
	names            []string // of the steps that are undone
}

// write is one write to the store, repeated according to its policy.
type write struct {
	*protocol.Policy
	// own is the record as the attempt knows it.
	own  driver.Record
	send sendFunc
	// wrote reports whether a met record is as this write leaves it; nil: never.
	wrote func(met driver.Record) bool
	// unacknowledged reports that an earlier write of the call may still arrive.
	unacknowledged bool
}

// A sendFunc makes one try, in the form of the last ruling, which is about met.
type sendFunc func(ctx context.Context, how protocol.Ruling, met driver.Record) protocol.Reply

// sent is the result of a write.
type sent struct {
	protocol.Ruling
	protocol.Reply
	last           error // of the last try alone
	unacknowledged bool  // the answer to a try was lost
}

// frame is the value of the context of a handler or a step.
type frame struct {
	claim      Claim
	id         string
	storeID    any
	invocation time.Time // end of the outermost call's invocation, or zero
	outer      *frame

	// path is the names of the steps that ctx is inside of.
	path  []string
	chain string // that came with the request, not yet checked
	// waiting tells the adapter that the call, or one within, waits; or nil.
	waiting func()

	*handlerRun
}

// handlerRun is common to the frames of one run: the handler's and those of its
// steps.
type handlerRun struct {
	transactional driver.Transactional // nil: nothing can be attached
	steps         steps

	mu       sync.Mutex
	attached driver.Attachment
	returned bool        // the handler has
	earlier  *handlerRun // run of the same call
	// attaching tells the adapter that the handler opens a transaction; or nil.
	attaching func()
	// innerErrors are classified errors that calls within returned.
	innerErrors []error
}

// steps are the steps of one run.
type steps struct {
	x *Executor // nil: the context belongs to no call
	identity
	tally      *tally
	mode       protocol.Mode     // in which the run began; read only
	stored     map[string][]byte // by earlier attempts; read only
	request    int               // the bytes of the stored request
	invocation time.Time         // its end, or zero

	mu         sync.Mutex
	owner      string
	attempt    int64
	handler    context.Context // the handler's; done when it has returned
	cancel     func(error)     // ends that context; nil: the handler has returned
	begun      map[string]bool
	running    int
	undos      []undo
	failed     *form.SagaFailure // the call has failed for good: nothing new begins
	unrecorded *StoreError       // of a step whose write may not be recorded
	stopped    error             // a step could no longer be undone later: undo now
	// known are the stored steps and all that were sent.
	known map[string][]byte
	// budgetLock contains a value while a write sets the compensation budget, and is
	// made by the first. See writeWithBudget.
	budgetLock chan struct{}
	misused    error // for which the call fails, whatever the handler returns
	written    bool  // a step was sent
}

// undo undoes a finished step.
type undo struct {
	name string
	data []byte // the step's encoded result
	lost bool   // that result is unavailable for good, and fn returns its error
	fn   func(ctx context.Context, data []byte) error
}

// step is a running step.
type step struct {
	work
	name      string // without those of outer steps
	undo      func(ctx context.Context, data []byte) error
	lost      bool   // its result is unavailable for good
	uncarried string // why its result would be stored as an empty one
}
