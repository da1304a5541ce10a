package handlers

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/lambda-once/once/handlers/internal/resumable"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
)

// ResumeOptions are the options of [Resume]. The zero value of every field stands for its
// default, and a nil *ResumeOptions for all of them.
type ResumeOptions struct {
	// Concurrency is how many records run at the same time. Default 4.
	Concurrency int
	// ReleasedAfter is how long after it began a record is resumed whose last attempt
	// returned an error, and which has finished steps or was attempted before. Its caller
	// may know of the error, and repeat the call until then. Default 15 min.
	ReleasedAfter time.Duration
}

// A ResumeEvent is the event of a function of [Resume]. That of a schedule names no
// records.
type ResumeEvent struct {
	// IDs are records to resume now, whenever they were released.
	IDs []string `json:"ids,omitempty"`
}

// A ResumeReport counts the records of one invocation of a function of [Resume].
type ResumeReport struct {
	Operation string `json:"operation"`
	// Resumed were finished, or failed for good and are undone.
	Resumed int `json:"resumed"`
	// Failed ran and are not finished. The next invocation resumes them again.
	Failed int `json:"failed"`
	// Waiting wait for a person: see Config.MaxAttempts and Config.ProviderMemory.
	Waiting int `json:"waiting"`
	// Left cannot be resumed. The log has a line for each that says why.
	Left int `json:"left"`
	// Oldest is how many seconds ago the oldest of Failed and Left began.
	Oldest int64 `json:"oldest_seconds"`
	// Complete reports that the invocation came to the last record, and had time for it.
	Complete bool `json:"complete"`
}

// A ResumeObserver is an [idempotent.Observer] that also counts the work left behind.
type ResumeObserver interface {
	// ObserveAbandoned receives, for each invocation of a function of [Resume], how long
	// ago the oldest record began that it could not resume. It is 0 if there is none.
	ObserveAbandoned(ctx context.Context, operation string, oldest time.Duration)
}

// A Resumable is a protected handler with its executor, for [Resume]. [Resumed] makes it, and
// for HTTP the functions httpapi.Resumed and httpapi.ResumedEvent.
type Resumable = resumable.Handler

// Resumed protects a handler as [idempotent.Wrap] and [Invoke] do, for stored requests. Pass
// the same arguments. If key returns a different key for a stored request than the one it was
// stored under, nothing runs. Resumed panics with a [*driver.ConfigError] if an argument is nil.
func Resumed[Req, Resp any](x *idempotent.Executor, key func(Req) (idempotent.Key, error), fn func(context.Context, Req) (Resp, error)) Resumable {
	protected := Invoke(x, key, fn)
	return resumable.New(x, func(ctx context.Context, data []byte) error {
		var request Req
		if err := json.Unmarshal(data, &request); err != nil {
			return &idempotent.ResumeError{Reason: "its request does not decode into the type of today", Err: err}
		}
		_, err := protected(ctx, request)
		return err
	})
}

// Resume returns the handler of a scheduled function that finishes the work that the callers
// of a handler have left behind: the records in progress whose lease has lapsed, and those that
// were released with finished steps or after a second attempt. It takes each over with the
// request that Config.Resume has stored, and calls the handler as a repetition of the call
// would. So steps that are finished do not run again, and a saga is finished or undone. The
// result is stored: a client that comes back receives it. A panic ends one record and not the
// rest.
//
//	lambda.Start(handlers.Resume(handlers.Resumed(x, key, checkout), nil))
//
// The store must be a [driver.Operable]; its tables need the index of Config.Resume, or
// each invocation reads the whole table. Where one runs out of time, the next one in the
// same process continues with what is behind. Resume panics with a [*driver.ConfigError] if an
// argument is wrong.
func Resume(h Resumable, o *ResumeOptions) func(context.Context, ResumeEvent) (ResumeReport, error) {
	var mistakes driver.Mistakes
	r := &resumer{Resumable: h, x: h.Executor()}
	if o != nil {
		r.options = *o
	}
	mistakes.If(r.options.Concurrency < 0, "handlers: ResumeOptions.Concurrency is %d, below 0", r.options.Concurrency)
	mistakes.If(r.options.ReleasedAfter < 0, "handlers: ResumeOptions.ReleasedAfter is %v, below 0", r.options.ReleasedAfter)
	mistakes.Unit("handlers: ResumeOptions.ReleasedAfter", r.options.ReleasedAfter)
	mistakes.If(r.x == nil, "handlers: Resume: the Resumable is the zero value; use Resumed")
	if r.x != nil {
		mistakes.If(!adapter.Resumes(r.x), "handlers: Resume: Config.Resume is not set: no request is stored")
		mistakes.If(adapter.Disabled(r.x), "handlers: Resume: ONCE_DISABLED is set: nothing would be protected")
		var able bool
		r.store, able = adapter.StoreOf(r.x).(driver.Operable)
		mistakes.If(!able, "handlers: Resume: the store, a %T, cannot be searched: it is no driver.Operable", adapter.StoreOf(r.x))
	}
	mistakes.Panic()
	r.options.Concurrency = cmp.Or(r.options.Concurrency, 4)
	r.options.ReleasedAfter = cmp.Or(r.options.ReleasedAfter, 15*time.Minute)
	return r.run
}
