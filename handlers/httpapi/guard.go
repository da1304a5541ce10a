package httpapi

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
)

// guard is the one implementation of the rules. The adapters convert
// requests and responses, and decide nothing.
type guard struct {
	options Options
	// optional are the methods whose requests are protected if they have a key.
	optional []string
	scope    Scope
	call     func(context.Context, *exchange) (httpResponse, error)
	// warnSteps logs the first stored error that leaves a saga's steps.
	warnSteps sync.Once
	refused   refusedRequests
}

// exchange is one request on its way through the core.
type exchange struct {
	request *incoming
	key     idempotent.Key
	keyErr  error
	run     func(context.Context) (httpResponse, error)
	// Of the last run: its error, and the status of that if it has one.
	failed error
	status *StatusError
	// resolved is the response that an operator has stored, or nil.
	resolved *httpResponse
	// store returns the stored form of the request, and unsaved is whether it failed.
	store   func() ([]byte, error)
	unsaved bool
}

// newGuard panics with the mistakes, and those that it finds.
func newGuard(name string, source source, x *idempotent.Executor, scope Scope, o *Options, mistakes driver.Mistakes) *guard {
	mistakes.If(x == nil, "httpapi: %s: the executor is nil", name)
	scope.check(name, source, &mistakes)
	o.check(&mistakes)
	if x != nil {
		o.checkResume(name, adapter.Resumes(x), &mistakes)
	}
	mistakes.Panic()
	g := &guard{options: o.complete(), scope: scope}
	if o == nil || o.Methods == nil {
		g.optional = optionalMethods
	}
	g.call = idempotent.Wrap(x, func(e *exchange) (idempotent.Key, error) { return e.key, e.keyErr }, g.run)
	return g
}

// reply is the response to the client: the handler's own, whole and in its own
// form, or response.
type reply struct {
	native   bool
	response httpResponse
}

// respond makes the call of a request, which fills in event.
func (g *guard) respond(ctx context.Context, r *incoming, event *idempotent.Event, run func(context.Context) (httpResponse, error)) (reply, error) {
	e := &exchange{request: r, run: run}
	if g.options.Resume != nil {
		of := ctx
		e.store = func() ([]byte, error) { return g.storedForm(of, e) }
	}
	resumes := resumptionIn(ctx)
	if resumes != nil {
		var err error
		if ctx, err = g.restore(ctx, resumes); err != nil {
			return reply{}, err
		}
		r.resumes = resumes.request
	}
	chain, err := g.options.chain(r.Headers)
	if err != nil && r.err == nil {
		r.err = err
	}
	if chain != "" {
		ctx = adapter.With(ctx, adapter.Chain(chain))
	}
	g.watch(ctx, func() { e.key, e.keyErr = g.key(ctx, r) })
	var user *functionError // of the scope, or of the option Key
	if errors.As(e.keyErr, &user) {
		e.keyErr = user.err
	}
	response, err := g.call(adapter.With(ctx, adapter.Event(event), adapter.Resolved(e.resolve)), e)
	if resumes != nil {
		resumes.err = err
	}
	if err == nil {
		switch event.Outcome {
		case idempotent.OutcomeExecuted, idempotent.OutcomeTakeover, idempotent.OutcomeBypassed:
			return reply{native: true}, nil
		}
		// A different call has stored it, even if this one ran and lost its lease.
		if e.resolved != nil {
			response = *e.resolved
		}
		if response.valid() {
			return reply{response: response.restored().replayed()}, nil
		}
		err = &idempotent.ResultUnavailableError{RecordID: event.RecordID, Reason: "the stored result is not an HTTP response"}
	}
	if user != nil || e.unsaved { // nothing has run
		if status, ok := statusOf(err); ok {
			return reply{response: status.response()}, nil
		}
		return reply{}, err
	}
	return g.failure(e, event, err)
}

// protection is the requirement of a method.
type protection uint8

const (
	unprotected protection = iota
	ifKeyed                // protected if the request has a key
	needsKey
)

// protects ignores case: a handler that does not look at the method accepts
// "Post" too. A request that is resumed has a record, whatever is protected today.
func (g *guard) protects(ctx context.Context, method string) protection {
	switch method = strings.ToUpper(method); {
	case resumptionIn(ctx) != nil:
		return needsKey
	case slices.Contains(g.options.Methods, method):
		return needsKey
	case slices.Contains(g.optional, method):
		return ifKeyed
	}
	return unprotected
}

// keyed reports whether a request has a key, valid or not.
func (g *guard) keyed(ctx context.Context, r *incoming) (keyed bool) {
	g.watch(ctx, func() {
		_, err := g.options.keyOf(r)
		keyed = !errors.Is(err, idempotent.ErrMissingKey)
	})
	return keyed
}

// watch calls find, which calls functions of the user's. If one panics, the call is
// observed as failed. The panic continues with its stack, as there is no recover.
func (g *guard) watch(ctx context.Context, find func()) {
	returned := false
	defer func() {
		if !returned {
			_, _ = g.call(ctx, &exchange{keyErr: functionPanickedError{}})
		}
	}()
	find()
	returned = true
}

type functionPanickedError struct{}

func (functionPanickedError) Error() string {
	return "httpapi: a function of the Scope or of the Options panicked; nothing has run"
}

// SafeText returns the whole text.
func (e functionPanickedError) SafeText() string { return e.Error() }

// key returns the key of a request. It checks the key before the caller, which
// may take a function of the user's.
func (g *guard) key(ctx context.Context, r *incoming) (idempotent.Key, error) {
	key, err := g.options.keyOf(r)
	if err != nil && !errors.Is(err, idempotent.ErrMissingKey) {
		return idempotent.Key{}, err
	}
	if r.err != nil {
		return idempotent.Key{}, r.err // before a missing key, which may be allowed
	}
	if err != nil {
		return idempotent.Key{}, err
	}
	if r.resumes != nil {
		key.Scope = r.resumes.Scope // no authorizer has seen it
	} else if key.Scope, err = g.scope.of(ctx, r); err != nil {
		return idempotent.Key{}, err
	}
	if key.Payload == nil && key.Fingerprint == "" {
		key.Fingerprint = r.fingerprint()
	}
	return key, nil
}

// run calls the handler and decides whether its response is stored. An
// optimistic call may run it a second time, under a claim: nothing of the first
// run counts.
func (g *guard) run(ctx context.Context, e *exchange) (httpResponse, error) {
	e.failed, e.status = nil, nil
	response, err := e.run(ctx)
	switch {
	case err != nil:
		e.failed = err
		return httpResponse{}, g.classify(e, err)
	case response.Final || g.stores(response.Status):
		if !response.Final {
			g.warn(ctx, response.Status)
		}
		return response.stored(g.options.StoreHeaders), nil
	case refusesRequest(response.Status):
		return httpResponse{}, idempotent.Retryable(&UnstoredError{response.Status})
	default:
		return httpResponse{}, &UnstoredError{response.Status}
	}
}
