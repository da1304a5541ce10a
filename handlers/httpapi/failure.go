package httpapi

import (
	"context"
	"errors"
	"log/slog"

	"github.com/lambda-once/once/handlers/internal/panics"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
)

// failure returns the response to the client for the error of a call.
func (g *guard) failure(e *exchange, event *idempotent.Event, err error) (reply, error) {
	switch own := err.(type) {
	case *UnstoredError:
		if e.failed == nil { // else it is an error of the handler, without a response
			return reply{native: true}, nil
		}
	case *StatusError:
		if own == e.status {
			return reply{response: own.response()}, nil
		}
	case *idempotent.TimedOutError:
		// It replaces a status that wraps the end of the context.
		if e.status != nil && own.Err == error(e.status) {
			return reply{response: e.status.response()}, nil
		}
	case *idempotent.ReplayedError:
		if status, ok := storedStatus(own); ok {
			response := status.response()
			// OutcomeFailed: this call is the first to return it, after it has
			// finished the undoing of an earlier one.
			if event.Outcome != idempotent.OutcomeFailed {
				response = response.replayed()
			}
			return reply{response: response}, nil
		}
	}
	if p, ok := g.options.problemOf(err); ok && !e.fromHandler(event, err) {
		return reply{response: p.response(g.options.Documentation)}, nil
	}
	return reply{}, err
}

// classify classifies an error with a status as a response with that status.
func (g *guard) classify(e *exchange, err error) error {
	status, ok := statusOf(err)
	if !ok {
		return err
	}
	e.status = status
	switch {
	case g.stores(status.status()):
		return idempotent.Permanent(status)
	case refusesRequest(status.status()):
		return idempotent.Retryable(status)
	}
	return status
}

// warn logs once that an error is stored as a success: the finished steps of its
// saga are not undone.
func (g *guard) warn(ctx context.Context, status int) {
	if status < 400 {
		return
	}
	steps := adapter.FinishedSagaSteps(ctx)
	if steps == 0 {
		return
	}
	g.warnSteps.Do(func() {
		claim, _ := idempotent.FromContext(ctx)
		slog.Default().LogAttrs(ctx, slog.LevelWarn,
			"a response with an error status is stored, and the finished saga steps of its request are not undone; to undo them, return a httpapi.StatusError or call httpapi.Fail",
			slog.String("operation", claim.Operation), slog.String("record_id", claim.RecordID),
			slog.Int("status", status), slog.Int("saga_steps", steps))
	})
}

// fromHandler reports whether the handler returned err, which may be the core's
// error of a call within it, and not the core for this call.
func (e *exchange) fromHandler(event *idempotent.Event, err error) bool {
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

// returned reports whether the handler's error is err or wraps it.
func (e *exchange) returned(err error) (is bool) {
	panics.Ignore(func() { is = errors.Is(e.failed, err) })
	return is
}
