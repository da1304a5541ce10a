package httpapi

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
)

// serve handles a request with a protected method. An error is the handler's,
// the scope's, or a stored one. A refused request is logged.
func (g *guard) serve(ctx context.Context, r *incoming, run func(context.Context) (httpResponse, error)) (reply, error) {
	event := adapter.EventOf(ctx) // of a resumption
	if event == nil {
		event = new(idempotent.Event)
	}
	result, err := g.respond(ctx, r, event, run)
	if reason := refusal(event); reason != "" && err == nil {
		g.logRefused(ctx, reason, event, result.response.Status)
	}
	return result, err
}

// refusal returns why a request was refused, in the words of metrics, or "".
func refusal(event *idempotent.Event) string {
	switch event.Outcome {
	case idempotent.OutcomeConflict, idempotent.OutcomeExpired, idempotent.OutcomeMismatch:
		return string(event.Outcome)
	}
	return string(event.Refusal())
}

// refusedInterval is the time between two lines with one reason: a client chooses
// how many requests it sends.
const refusedInterval = time.Minute

// logRefused logs the first refused request of each reason, and then at most one a
// minute.
func (g *guard) logRefused(ctx context.Context, reason string, event *idempotent.Event, status int) {
	unlogged, due := g.refused.count(reason, time.Now())
	if !due {
		return
	}
	slog.Default().LogAttrs(ctx, slog.LevelWarn, "HTTP requests are refused; a reason has at most one line a minute",
		slog.String("operation", event.Operation), slog.String("reason", reason), slog.Int("status", status),
		slog.String("scope", g.scope.name), slog.String("error", idempotent.SafeText(event.Err)),
		slog.Int("unlogged", unlogged)) // of this reason, since its last line
}

// refusedRequests counts refused requests by reason. The reasons are few.
type refusedRequests struct {
	mu     sync.Mutex
	byCase map[string]refusedCase
}

// refusedCase is one reason: when it was logged, and how many requests were not
// since.
type refusedCase struct {
	logged   time.Time
	unlogged int
}

// count counts a request. It reports whether a line is due, and how many requests
// had none since the last one.
func (r *refusedRequests) count(reason string, now time.Time) (unlogged int, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, known := r.byCase[reason]
	if known && now.Sub(last.logged) < refusedInterval {
		last.unlogged++
		r.byCase[reason] = last
		return 0, false
	}
	if r.byCase == nil {
		r.byCase = make(map[string]refusedCase)
	}
	r.byCase[reason] = refusedCase{logged: now}
	return last.unlogged, true
}
