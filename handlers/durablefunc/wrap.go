package durablefunc

import (
	"context"
	"errors"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
)

// Handler is a durable function at the wire: it takes the request of one
// invocation, and returns its response. It is a lambda.Handler.
type Handler func(ctx context.Context, request []byte) ([]byte, error)

// Invoke calls h. lambda.Start recognizes a handler of raw bytes by this method.
func (h Handler) Invoke(ctx context.Context, request []byte) ([]byte, error) {
	return h(ctx, request)
}

// Wrap protects a Lambda durable function, so that each key has one
// execution. Without it, every delivery of a message starts an execution of its
// own, because the service recognizes duplicates only by an execution's name.
// The next function is the result of durable.Wrap of the AWS SDK for durable
// executions; this package does not import that SDK. Event is the type of the
// handler's event, which the key function receives.
//
// An execution claims its key in its first invocation, and keeps it while it is
// suspended. Each later invocation enters the same record again. The response
// of each invocation decides:
//
//	PENDING, or an error   the claim stays for the next invocation
//	SUCCEEDED              the response is stored, and is that of every later execution
//	FAILED                 the key is released, and the next execution runs
//
// A second execution with the key fails with an [*idempotent.InProgressError]
// until then. The service retries the invocation. To end that execution instead,
// return a response with the status FAILED in place of this error. An error that
// no retry overcomes ends the execution: a missing, invalid, reused or expired key, an
// event that does not decode, a result that only the first execution has, or a result of
// a different kind of handler. So does an [*idempotent.StepsLeftError]: the function
// was not durable before, and has left finished steps. Any other error of the key
// function fails the invocation. So does every error that leaves an execution without
// its key after its function has run: the execution would end, and hold the key.
//
// An execution without a payload has the zero event. An event on a later page of the
// execution's operations is fetched with [Options].Service. Without it, the
// execution ends with a [*NoEventError].
//
// The executionTimeout is that of the function's DurableConfig, plus all the time for
// which an execution may be paused with its timeout (ExecutionTimeoutPaused). With
// [Options].Service it is the timeout alone. The claim lasts until so long
// after the start of the execution. Configure no shorter one here: a duplicate could
// run before the execution ends. An execution that is stopped by hand, or times out,
// holds its key until then; the command "once release" frees it. Stopping does not
// end the last invocation: wait for it before the release.
//
// The handler runs again from its beginning in each invocation, so steps and
// transactions of package idempotent are refused in it. Call [idempotent.Do]
// within a step of the durable SDK, with the context of [InStep]. Never
// call it around operations of the durable SDK: their suspension is an error
// that would release the key. [idempotent.DownstreamKey] is the same in all
// invocations, and in all executions with the key.
//
// A frozen invocation that thaws shares the claim with its successor. It can
// complete the record only with the result of the execution; any error after
// the end of its invocation changes nothing. Its own effects go through, as
// without this package: the service refuses only its checkpoints.
//
// Wrap panics with a [*driver.ConfigError] that lists all mistakes: an argument other
// than the options is nil, the timeout is not 1 s to 366 days, or the executor has a
// Config.Codec, Lease, Optimistic, Wait, or FailOpen, which do not fit (see
// [adapter.CheckExecutions]).
func Wrap[Event any](x *idempotent.Executor, executionTimeout time.Duration, key func(Event) (idempotent.Key, error), next func(context.Context, []byte) ([]byte, error), o *Options) Handler {
	var mistakes driver.Mistakes
	mistakes.If(x == nil, "durablefunc: Wrap: the executor is nil")
	mistakes.If(key == nil, "durablefunc: Wrap: the key function is nil")
	mistakes.If(next == nil, "durablefunc: Wrap: the handler is nil")
	if x != nil {
		if err := adapter.CheckExecutions(x, executionTimeout); err != nil {
			mistakes = append(mistakes, err)
		}
	}
	mistakes.Panic()
	if o == nil {
		o = &Options{}
	}
	service := optionalService{o.Service}
	var ask func(context.Context, string) (adapter.ExecutionState, []byte, error)
	if o.Service != nil {
		ask = service.ask
	}
	protected := idempotent.Wrap(x,
		func(i *invocation[Event]) (k idempotent.Key, err error) {
			if k, err = key(i.event); err != nil {
				i.refused = err
			}
			return k, err
		},
		func(ctx context.Context, i *invocation[Event]) (response, error) {
			return i.run(context.WithValue(ctx, contextKey{}, &i.durable), next)
		})
	return func(ctx context.Context, request []byte) ([]byte, error) {
		e, err := service.readExecution(ctx, x, request)
		if errors.Is(err, ErrNoEvent) {
			return e.end(err)
		}
		if err != nil {
			return nil, err
		}
		i := invocation[Event]{durable: durable{e.arn, until(e.start, executionTimeout), ask}, request: request}
		if err := e.decode(&i.event); err != nil {
			return e.end(err)
		}
		response, err := protected(i.execution(ctx, i.decide, i.arn), &i)
		switch {
		case err == nil:
			return response.text, nil
		case i.refused != nil && hasNoKey(err), i.refused == nil && !i.ran && isFinal(err):
			return e.end(err)
		}
		return nil, err
	}
}

// until returns the end of an execution. Its start is missing where a service
// does not send it: the claim then lasts longer, and never too short. It is not
// later than now, but for the clocks.
func until(start time.Time, timeout time.Duration) time.Time {
	if now := time.Now(); start.IsZero() || start.After(now) {
		start = now
	}
	return start.Add(timeout)
}

// durable is the execution in the context of a durable function.
type durable struct {
	arn   string
	until time.Time
	ask   func(ctx context.Context, arn string) (adapter.ExecutionState, []byte, error) // or nil
}

type contextKey struct{}

// invocation is one invocation of an execution.
type invocation[Event any] struct {
	durable
	event   Event
	request []byte
	refused error  // by the key function
	ran     bool   // next was called
	status  string // of the response, or "" without one
}

func (i *invocation[Event]) run(ctx context.Context, next func(context.Context, []byte) ([]byte, error)) (response, error) {
	i.ran = true
	text, err := next(ctx, i.request)
	if err != nil {
		return response{}, err
	}
	response, err := readResponse(text)
	i.status = response.status
	return response, err
}

// decide returns the outcome of a response. A suspension is no error that
// could be recognized, and a handler may swallow it: the response counts.
func (i *invocation[Event]) decide(err error) idempotent.Outcome {
	switch {
	case err == nil && i.status == succeeded:
		return idempotent.OutcomeExecuted
	case err == nil && i.status == failed:
		return idempotent.OutcomeReleased
	}
	return idempotent.OutcomeSuspended
}

// InStep returns a context for one call of [idempotent.Do], or of a wrapped
// function, within a step of a [Wrap] function. The claim belongs to this step
// of the execution: after a crash the repeated step enters it again at once, and
// runs the call's function again if no result was stored. With the step's own
// context instead, it would meet the claim of its dead predecessor until the
// lease ends, and the SDK would run out of retries.
//
// The name is that of the durable step. It must be the same in each invocation,
// and no two calls of an execution that may run at once have both a name and a
// key in common: in a loop, add the item to the name. The claim lasts until the
// end of the execution, so that a later execution that uses the key of the call
// meets an [*idempotent.InProgressError] for as long.
//
// An effect that the call's function had before the crash happens again, unless
// the other service knows its [idempotent.DownstreamKey].
//
// A call without a key (see [idempotent.RunMissingKey]) has no claim. Its
// downstream keys are derived from the execution, the name and the operation, so
// that the repeated step sends them again. Two such calls of one operation need
// different names, even if they run one after the other.
//
// With Config.MaxAttempts the repeated step would be a second attempt. The calls
// of such an executor have claims of their own, as with the step's own context.
//
// Config.OnStoreError has no effect: a claim that the store does not answer is an
// [*idempotent.StoreError], and the service repeats the step.
//
// Use it only in a step's function, which offers no durable operations. Around
// an operation of a child context, a suspension would decide on the call.
//
// InStep panics if the name is empty, and with a context that does not come
// from a [Wrap] function.
func InStep(ctx context.Context, name string) context.Context {
	d, ok := ctx.Value(contextKey{}).(*durable)
	if !ok {
		panic("durablefunc: InStep: the context does not come from a function that Wrap protects")
	}
	if name == "" {
		panic("durablefunc: InStep: the name is empty")
	}
	return d.execution(ctx, nil, d.arn, name)
}

// execution returns a context whose call claims for the execution, or for a step of it.
func (d *durable) execution(ctx context.Context, decide func(error) idempotent.Outcome, id ...string) context.Context {
	return adapter.With(ctx, adapter.Durable(adapter.Execution{ID: id, Until: d.until, Decide: decide, Ask: d.ask}))
}
