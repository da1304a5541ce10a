package handlers

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/lambda-once/once/idempotent"
)

// withoutStatus takes the place of an answer whose StatusCode was forgotten, or
// is none that an answer can have. The work is done: it is stored whatever the
// option Store says, and the first client gets what all others do.
func (g *httpGuard) withoutStatus(ctx context.Context, adapter string, status int) httpResponse {
	claim, _ := idempotent.FromContext(ctx)
	slog.Default().LogAttrs(ctx, slog.LevelError, "the handler's answer has no HTTP status from 200 to 599: set its StatusCode; the request was carried out, and its clients get a 500",
		slog.String("handler", adapter), slog.String("operation", claim.Operation), slog.String("key_hash", claim.KeyHash), slog.Int("status", status))
	problem := httpProblem{
		status: http.StatusInternalServerError, title: "The answer has no status",
		detail: fmt.Sprintf("This request was carried out, but the handler's answer has the StatusCode %d, which is no HTTP status. Do not send the request with another key.", status),
	}
	response := problem.response(g.options.Documentation)
	response.done = true
	return response
}
