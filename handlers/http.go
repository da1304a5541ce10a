package handlers

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/lambda-once/once/idempotent"
)

// httpGuard is the one implementation of the rules. The adapters translate
// requests and answers, and decide nothing.
type httpGuard struct {
	options HTTPOptions
	// optional are the methods whose requests are protected if they have a key.
	optional []string
	scope    Scope
	call     func(context.Context, *httpExchange) (httpResponse, error)
	// keepsSteps warns of the first stored error that leaves a saga as it is.
	keepsSteps sync.Once
}

// httpExchange is one request on its way through the core.
type httpExchange struct {
	key    idempotent.Key
	keyErr error
	run    func(context.Context) (httpResponse, error)
	// Of the last run: what it returned, and what was made of that if it has
	// a status.
	failed error
	status *StatusError
}

func newHTTPGuard(adapter string, source httpSource, x *idempotent.Executor, scope Scope, o *HTTPOptions) *httpGuard {
	if x == nil {
		panic("handlers: " + adapter + ": the Executor is nil")
	}
	scope.requireFor(adapter, source)
	g := &httpGuard{options: o.complete(), scope: scope}
	if o == nil || o.Methods == nil {
		g.optional = optionalMethods
	}
	g.call = idempotent.Wrap(x, func(e *httpExchange) (idempotent.Key, error) { return e.key, e.keyErr }, g.run)
	return g
}

// httpAnswer is what the client gets: what the handler has just answered, in
// full and in its own form, or a response.
type httpAnswer struct {
	native   bool
	response httpResponse
}

// serve answers a request with a protected method. An error is the handler's,
// or the scope's, or a stored one.
func (g *httpGuard) serve(ctx context.Context, r *httpRequest, run func(context.Context) (httpResponse, error)) (httpAnswer, error) {
	e := &httpExchange{run: run}
	chain, err := g.options.chain(r.caller.Headers)
	if err != nil && r.err == nil {
		r.err = err
	}
	if chain != "" {
		ctx = idempotent.WithChain(ctx, chain)
	}
	e.key, e.keyErr = g.key(ctx, r)
	var of *functionError // of the scope, or of the option Key
	if errors.As(e.keyErr, &of) {
		e.keyErr = of.err
	}
	ctx, event := idempotent.WithEvent(ctx)
	response, err := g.call(ctx, e)
	if err == nil {
		switch event.Outcome {
		case idempotent.OutcomeExecuted, idempotent.OutcomeTakeover, idempotent.OutcomeBypassed:
			return httpAnswer{native: true}, nil
		}
		// Stored by another call: also where this one ran, and lost its lease.
		if response.isAnswer() {
			return httpAnswer{response: response.restored().marked(g.options.ReplayHeader)}, nil
		}
		err = &idempotent.ResultUnavailableError{KeyHash: event.KeyHash, Reason: "what is stored is not the answer to an HTTP request"}
	}
	if of != nil { // nothing was run
		if status, ok := statusOf(err); ok {
			return httpAnswer{response: status.response()}, nil
		}
		return httpAnswer{}, err
	}
	switch own := err.(type) {
	case *UnstoredError:
		if e.failed == nil { // and not an error of the handler, which has no answer
			return httpAnswer{native: true}, nil
		}
	case *StatusError:
		if own == e.status {
			return httpAnswer{response: own.response()}, nil
		}
	case *idempotent.TimedOutError:
		// It stands for a status that wraps the end of the context.
		if e.status != nil && own.Err == error(e.status) {
			return httpAnswer{response: e.status.response()}, nil
		}
	case *idempotent.ReplayedError:
		if status, ok := storedStatus(own); ok {
			return httpAnswer{response: g.again(status.response(), event)}, nil
		}
	}
	if p, ok := g.options.problem(err); ok && !e.fromHandler(event, err) {
		return httpAnswer{response: p.response(g.options.Documentation)}, nil
	}
	return httpAnswer{}, err
}

// again marks a stored answer, unless this call is the first to return it: then
// it has finished the undoing of an earlier one.
func (g *httpGuard) again(r httpResponse, event *idempotent.Event) httpResponse {
	if event.Outcome == idempotent.OutcomeFailed {
		return r
	}
	return r.marked(g.options.ReplayHeader)
}

// protection is what a method asks for.
type protection uint8

const (
	unprotected protection = iota
	ifKeyed                // protected if the request has a key
	needsKey
)

// protects does not go by the case: a handler that does not look at the method
// takes "Post" too.
func (g *httpGuard) protects(method string) protection {
	switch method = strings.ToUpper(method); {
	case slices.Contains(g.options.Methods, method):
		return needsKey
	case slices.Contains(g.optional, method):
		return ifKeyed
	}
	return unprotected
}

// key makes the key of a request. What it is made of is checked first: it
// needs no look at the caller.
func (g *httpGuard) key(ctx context.Context, r *httpRequest) (idempotent.Key, error) {
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
	if key.Scope, err = g.scope.of(ctx, r); err != nil {
		return idempotent.Key{}, err
	}
	if key.Payload == nil && key.Fingerprint == "" {
		key.Fingerprint = r.fingerprint()
	}
	return key, nil
}

// run calls the handler, and says what becomes of its answer. A call without a
// claim may run it a second time, under one: nothing of the first run counts.
func (g *httpGuard) run(ctx context.Context, e *httpExchange) (httpResponse, error) {
	e.failed, e.status = nil, nil
	response, err := e.run(ctx)
	switch {
	case err != nil:
		e.failed = err
		return httpResponse{}, g.classified(e, err)
	case response.done || g.stores(response.Status):
		if !response.done {
			g.warn(ctx, response.Status)
		}
		return response.kept(g.options.StoreHeaders), nil
	case refusesUndone(response.Status):
		return httpResponse{}, idempotent.Retryable(&UnstoredError{response.Status})
	default:
		return httpResponse{}, &UnstoredError{response.Status}
	}
}

// classified marks an error that has a status as an answer with that status
// would be treated.
func (g *httpGuard) classified(e *httpExchange, err error) error {
	status, ok := statusOf(err)
	if !ok {
		return err
	}
	e.status = status
	switch {
	case g.stores(status.status()):
		return idempotent.Permanent(status)
	case refusesUndone(status.status()):
		return idempotent.Retryable(status)
	}
	return status
}

// warn tells once of an error that is stored as a success: nothing of its saga
// is undone.
func (g *httpGuard) warn(ctx context.Context, status int) {
	if status < 400 {
		return
	}
	steps := idempotent.FinishedSagaSteps(ctx)
	if steps == 0 {
		return
	}
	g.keepsSteps.Do(func() {
		claim, _ := idempotent.FromContext(ctx)
		slog.Default().LogAttrs(ctx, slog.LevelWarn,
			"an answer with an error status is stored, and the finished saga steps of its request are kept; to have them undone, return a handlers.StatusError or call handlers.Fail",
			slog.String("operation", claim.Operation), slog.String("key_hash", claim.KeyHash),
			slog.Int("status", status), slog.Int("saga_steps", steps))
	})
}

// stores asks the option. A panic of it comes after the work, which is not to be
// done again for that.
func (g *httpGuard) stores(status int) (stored bool) {
	stored = true
	_ = guarded(func() error { stored = g.options.Store(status); return nil })
	return stored
}

// fromHandler tells an error that the handler has returned, which may be one
// of the core's from a call of its own, from what the core says of this call.
func (e *httpExchange) fromHandler(event *idempotent.Event, err error) bool {
	if e.failed == nil || event.Outcome == idempotent.OutcomeLeaseLost {
		return false
	}
	switch own := err.(type) {
	case *idempotent.StoreError:
		return own == nil || event.Outcome != idempotent.OutcomeUnknown || own.Handler == nil
	case *idempotent.CompensationError:
		// Without a record no other call continues to undo.
		return event.Outcome == idempotent.OutcomeBypassed || e.returned(err)
	}
	return true
}

// returned reports whether an error is, or is within, what the handler has
// returned.
func (e *httpExchange) returned(err error) (is bool) {
	_ = guarded(func() error { is = errors.Is(e.failed, err); return nil }) // a typed nil panics
	return is
}
