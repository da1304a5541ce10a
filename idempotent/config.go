package idempotent

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// A Config contains the policies of an [Executor]. The zero value of every
// field stands for its default, and a nil *Config for all defaults.
type Config struct {
	// Ahead is how many records of a batch package handlers claims before their
	// turn. Their requests to the store are then on the way together, and not one by
	// one. The functions still run in the order and concurrency that the handler
	// promises. A crash leaves the claims until their leases end, and each then costs a
	// takeover. A window needs about 25 KB a record. Nothing is claimed ahead with
	// MaxAttempts or Optimistic. Set it to -1 if the function itself calls the Executor
	// with the key of a later record of its batch. Default 10; a negative number claims
	// each record in its turn.
	Ahead int

	// CacheEntries is the number of finished results that this process keeps,
	// so that a duplicate of them costs no call to the store. They take at most 8 MiB.
	// A record that is removed from the store by hand is still replayed from here until
	// its retention ends. Default 0: no cache.
	CacheEntries int

	// ClockSkew is the largest difference between the clocks of two callers. A
	// lease and a retention are over only when they are past by more than
	// this. Default 1 s, at most 1 h.
	ClockSkew time.Duration

	// Codec encodes results and decodes them. Default [JSON].
	Codec Codec

	// Lease is how long a claim holds without a sign of life. A heartbeat
	// extends it every third of it for as long as the handler runs. So it
	// bounds how long a crash blocks retries, and not how long a handler may
	// take.
	//
	// Default: on Lambda the end of the invocation and the ClockSkew, without a
	// heartbeat; elsewhere 1 min with one.
	//
	// Lambda stops the process when the invocation ends. A crash there blocks
	// retries until the function's timeout and twice the ClockSkew have
	// passed. Elsewhere a context's deadline is no lease, because a handler may
	// run on after it. For the same reason set a Lease if Do gets a context
	// with a shorter deadline than its invocation's. At least twice the
	// Reserve, and 10 ms.
	Lease time.Duration

	// Margin is the time left below which package handlers starts no further record
	// of a batch. It counts back from the handlers' deadline, which is Reserve before
	// the invocation's. Set it longer than the slowest handler takes: a handler that is
	// cut off after its effect runs again. A Margin that leaves no room to start fails
	// the invocation with a handlers.MarginError. Default 1 s, and at most half of
	// the time that the handlers have.
	Margin time.Duration

	// MaxAttempts is the number of attempts that a key has. An attempt counts
	// when it crashed, lost its lease, or failed with an error that is not
	// wrapped with [Retryable]. After the last one, calls return an
	// [*OutcomeUnknownError] until a person decides: the record does not
	// expire, unless it was claimed under a configuration without MaxAttempts.
	// 1 means "never run again". Default 0: no limit.
	MaxAttempts int

	// Observer receives the outcome of every call. Any Observer replaces the
	// default, and [NoObserver] switches it off.
	//
	// Default: a [LogObserver] that writes to [slog.Default] from
	// [slog.LevelWarn] up, without the texts of handlers' errors, and the Observer of
	// a store that is [Observed].
	Observer Observer

	// OnMissingKey decides on a request without a key. Default
	// [RefuseMissingKey].
	OnMissingKey MissingKeyPolicy

	// OnStoreError decides on a claim that the store does not answer, because
	// it is unreachable or too busy. [FailOpen] excludes MaxAttempts. Default
	// [FailClosed].
	OnStoreError StoreErrorPolicy

	// Optimistic saves the claim, and one of the two round trips of a first
	// call: the handler's transaction creates the record. Use it for handlers
	// that have no effect but their transaction (see dynamo.Collect). It protects
	// no other effect: see [OutcomeRepeated].
	//
	// Of calls at the same time each runs its handler, one commits, and all return the
	// result of that one. So do later calls, after they have run: the handler must be
	// cheap to run in vain. Optimistic excludes MaxAttempts and FailOpen, and a handler
	// that uses [Step], [DownstreamKey] or [ChainKey] is refused.
	// A call that meets the record of one with a claim behaves as that one.
	// Default false.
	Optimistic bool

	// Payloads keeps results outside of the record whose encoding, sealed if there is a
	// Sealer, has more than 256 KiB: DynamoDB's limit for a whole record is 400 KB.
	// Its objects must live longer than the Retention. Storing one takes time after the
	// handler has returned, when the lease is no longer extended: on Lambda
	// only a larger Reserve ensures it, elsewhere a longer Lease.
	// See [driver.PayloadStore]. Libraries that share the table cannot follow the
	// references.
	//
	// Default: none. A result without room in the record is replayed as a
	// [*ResultUnavailableError].
	Payloads driver.PayloadStore

	// ProviderMemory is how long a service that the handler calls remembers a
	// [DownstreamKey]: the shortest such time, or less. No handler runs longer after the
	// first attempt of its key began. A call that could not end before that returns a
	// [*KeyForgottenError] and runs nothing, where its request could have a second effect.
	// The record waits for a person.
	//
	// So a record in progress does not expire, and a failed first attempt leaves its
	// record, as with MaxAttempts: a corrected request needs a new key. An error wrapped
	// with [Retryable] says that nothing was sent, and leaves none. On Lambda a call
	// could end as late as its invocation. Longer than ClockSkew and Reserve. It excludes
	// Optimistic, FailOpen, durable functions and records that another library shares.
	// Default 0: no limit.
	ProviderMemory time.Duration

	// ReadFirst reads the record before the claim. A duplicate is then a read and
	// not a failed write, which DynamoDB bills as a write of the whole record; a
	// first call takes one round trip more. Use it if most calls are
	// repetitions, or if results are large: docs/cost-and-scale.md has the
	// break-even. A read that fails decides nothing: the claim follows, and the
	// Observer receives the error. With Optimistic, later duplicates no longer
	// run in vain. Default false.
	ReadFirst bool

	// ReleasePermanent treats [Permanent] errors like those without a class: they
	// release the key instead of being stored. Package powertools sets it, because
	// Powertools does not know failed records. Default false.
	ReleasePermanent bool

	// RefuseLate refuses a key that comes so late that the record of an earlier call may
	// have expired: one whose Key.Issued is longer ago than the Retention, less ClockSkew.
	// The call then reads. It replays a finished record, meets a running call, or takes
	// over, as always. Without a record it returns a [*KeyExpiredError] and runs nothing,
	// where it would otherwise run the handler as a first call. A read that fails is an
	// error, and never fails open.
	//
	// A late repetition looks like a first delivery that came late: make the
	// Retention longer than the longest standstill that messages are to survive. Keys
	// without Issued are never late. RefuseLate excludes records that another library
	// shares. Default false.
	RefuseLate bool

	// Reserve is the time kept back from the handler to record the result. The
	// handler's context ends that long before the lease, and in a Lambda
	// function that long before the invocation. A claim that the store does not
	// answer ends at that time too, so that the call can report it. At most half
	// of the lease. Default 500 ms.
	Reserve time.Duration

	// Resume stores the request with the claim, so that handlers.Resume can finish work
	// that its caller left behind. A process that dies in the middle of a saga leaves half of
	// it done until the caller repeats the call, which queues do and browsers do not. It is
	// for [Wrap], [WrapEffect] and package httpapi. [Do] returns an error, and the
	// handlers of batches refuse it, as their sources repeat.
	//
	// The request is stored as the JSON to which its type marshals, sealed if there is a
	// Sealer, until the end of the work. Without a Sealer it can be read in the table. With
	// more than 256 KiB it goes to Payloads, where it stays, or is refused. It makes the
	// record larger, and so the claim and each call that is refused while the work is in
	// progress; duplicates encode it, too. The tables need an index: see
	// docs/steps-and-sagas.md. Resume excludes Optimistic, records that another library
	// shares, durable functions and Key.Record. Default false.
	Resume bool

	// Retention is how long a finished record is kept, and so how late a
	// repetition may come and still receive the first result. It must be longer
	// than all retries of a request. Default 24 h, at least 1 s.
	Retention time.Duration

	// RetentionBefore is for RefuseLate after the Retention has become longer: records of
	// before have expired earlier, while their keys are not late yet. Default none.
	RetentionBefore RetentionBefore

	// Sealer encrypts results, stored errors and steps before they leave the
	// process. Every Executor that shares the records needs one with the
	// same keys; tools and libraries of other languages cannot read sealed data.
	// See [driver.Sealer]. Default none.
	Sealer driver.Sealer

	// Wait is how long a duplicate of a running call waits for the result
	// before it returns an [*InProgressError]; it never outlasts its context.
	// Identical calls in one process then share one wait, and one execution, in
	// memory. Default 0: no waiting, no sharing.
	Wait time.Duration

	// shared is set by Shared of package adapter, which documents it.
	shared bool
}

// A RetentionBefore is a shorter Retention that an earlier version had. Keys that were
// issued before Until are late after it, and not after Config.Retention.
type RetentionBefore struct {
	Retention time.Duration
	// Until is when no instance of the earlier version ran any more.
	Until time.Time
}

// A MissingKeyPolicy decides on a request without a key.
type MissingKeyPolicy uint8

const (
	// RefuseMissingKey returns a [*MissingKeyError].
	RefuseMissingKey MissingKeyPolicy = iota
	// RunMissingKey runs the handler unprotected. It refuses a missing scope
	// all the same, and an error that wraps a [*MissingKeyError].
	RunMissingKey
)

// A StoreErrorPolicy decides on a claim that the store does not answer.
type StoreErrorPolicy uint8

const (
	// FailClosed returns a [*StoreError] without running the handler.
	FailClosed StoreErrorPolicy = iota
	// FailOpen runs the handler unprotected, and still tries to record its
	// result. Use it only for handlers whose effects may happen twice.
	//
	// It covers errors that wrap [driver.ErrUnavailable], and a claim without
	// an answer after 5 s, or half of the context's time if that is less. A
	// missing table or permission is refused all the same. So is a takeover, which
	// follows an answer of the store, and the claim of a step of a durable execution,
	// which the service repeats.
	FailOpen
)

// withDefaults returns a copy, so that later changes to c do not affect an
// Executor.
func (c *Config) withDefaults() Config {
	var full Config
	if c != nil {
		full = *c
	}
	full.Ahead = cmp.Or(full.Ahead, 10)
	full.ClockSkew = cmp.Or(full.ClockSkew, time.Second)
	full.Reserve = cmp.Or(full.Reserve, 500*time.Millisecond)
	full.Retention = cmp.Or(full.Retention, 24*time.Hour)
	full.ReleasePermanent = full.ReleasePermanent || full.shared
	if full.Codec == nil {
		full.Codec = JSON{}
	}
	if _, ok := full.Codec.(JSON); !ok {
		full.Codec = copying{full.Codec}
	}
	return full
}

// defaultObserver returns the Observer of a Config without one.
func defaultObserver(store driver.Store) Observer {
	logs := LogObserver{Level: slog.LevelWarn}
	if s, ok := store.(Observed); ok {
		if own := s.DefaultObserver(); own != nil {
			return Observers{logs, own}
		}
	}
	return logs
}

func (c *Config) validate(mistakes *driver.Mistakes) {
	refuse := func(wrong bool, format string, args ...any) {
		if wrong {
			mistakes.Add("idempotent: Config."+format, args...)
		}
	}
	refuse(c.CacheEntries < 0, "CacheEntries is %d, below 0", c.CacheEntries)
	refuse(c.ClockSkew < 0 || c.ClockSkew > time.Hour, "ClockSkew is %v, not between 0 and 1 h", c.ClockSkew)
	refuse(c.Margin < 0, "Margin is %v, below 0", c.Margin)
	refuse(c.MaxAttempts < 0, "MaxAttempts is %d, below 0", c.MaxAttempts)
	refuse(c.OnMissingKey > RunMissingKey, "OnMissingKey is %d, which is no policy", c.OnMissingKey)
	refuse(c.OnStoreError > FailOpen, "OnStoreError is %d, which is no policy", c.OnStoreError)
	refuse(c.Optimistic && c.MaxAttempts > 0,
		"Optimistic with MaxAttempts %d: without a claim there is no count of attempts", c.MaxAttempts)
	refuse(c.Optimistic && c.OnStoreError == FailOpen,
		"Optimistic with FailOpen: there is no claim that could fail")
	refuse(c.RefuseLate && c.shared, "RefuseLate with shared records: how long the other library keeps them is not known")
	refuse(c.RefuseLate && c.Retention <= c.ClockSkew, "RefuseLate with a Retention of %v, not above the ClockSkew: every key would be late", c.Retention)
	before := c.RetentionBefore
	refuse(before != RetentionBefore{} && !c.RefuseLate, "RetentionBefore without RefuseLate, which alone asks for it")
	refuse(before != RetentionBefore{} && (before.Until.IsZero() || before.Retention <= c.ClockSkew || before.Retention >= c.Retention),
		"RetentionBefore needs Until, and a Retention below %v and above ClockSkew", c.Retention)
	memory := c.ProviderMemory
	refuse(memory != 0 && memory <= c.ClockSkew+c.Reserve, "ProviderMemory is %v, not longer than ClockSkew and Reserve: no handler would have time", memory)
	refuse(memory > 0 && c.Optimistic, "ProviderMemory with Optimistic, whose handlers call no provider")
	refuse(memory > 0 && c.OnStoreError == FailOpen, "ProviderMemory with FailOpen: a run that is not recorded has no beginning")
	refuse(memory > 0 && c.shared, "ProviderMemory with shared records: the takeover of the other library forgets when they began")
	refuse(c.Reserve < 0, "Reserve is %v, below 0", c.Reserve)
	refuse(c.Resume && c.Optimistic, "Resume with Optimistic: without a claim, nothing is left behind")
	refuse(c.Resume && c.shared, "Resume with shared records: the takeover of the other library forgets the request")
	refuse(c.Retention < time.Second, "Retention is %v, below 1 s: retention is stored in seconds", c.Retention)
	_, isJSON := c.Codec.(JSON)
	refuse(c.shared && !isJSON, "Codec with shared records: the other library reads JSON")
	refuse(c.shared && c.MaxAttempts > 0,
		"MaxAttempts is %d with shared records: the other library does not know the limit, and its takeover forgets the attempts", c.MaxAttempts)
	refuse(c.shared && c.Payloads != nil, "Payloads with shared records: the other library cannot follow a reference to a result")
	refuse(c.shared && c.Sealer != nil, "Sealer with shared records: the other library cannot read what is sealed")
	refuse(c.Wait < 0, "Wait is %v, below 0", c.Wait)
	mistakes.Unit("idempotent: Config.ClockSkew", c.ClockSkew)
	mistakes.Unit("idempotent: Config.Margin", c.Margin)
	mistakes.Unit("idempotent: Config.Reserve", c.Reserve)
	mistakes.Unit("idempotent: Config.Wait", c.Wait)
	lease := cmp.Or(c.Lease, protocol.DefaultLease)
	refuse(lease < 10*time.Millisecond, "Lease is %v, below 10 ms: leases are stored in milliseconds", lease)
	refuse(lease/2 < c.Reserve,
		"Lease is %v, less than twice the Reserve of %v: no heartbeat would come before the handler is stopped", lease, c.Reserve)
	refuse(c.OnStoreError == FailOpen && c.MaxAttempts > 0,
		"OnStoreError is FailOpen and MaxAttempts is %d: a run that is not recorded cannot be counted", c.MaxAttempts)
}
