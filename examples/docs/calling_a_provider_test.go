package docs_test

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
)

// The code of docs/calling-a-provider.md.

// mailer sends messages by way of a server that takes no key, and lists what it has sent.
type mailer struct {
	send func(ctx context.Context, id string, o Order) error
	sent func(ctx context.Context, id string) (bool, error)
}

func (m mailer) confirm(ctx context.Context, o Order) (string, error) {
	// The finished step keeps the record after an error, so that the next attempt is a takeover.
	id, err := idempotent.Step(ctx, "message id", func(context.Context) (string, error) { return rand.Text(), nil })
	if err != nil {
		return "", err
	}
	if claim, _ := idempotent.FromContext(ctx); claim.Takeover() {
		if sent, err := m.sent(ctx, id); err != nil || sent {
			return id, err
		}
	}
	return id, m.send(ctx, id, o)
}

// The server's answer is lost, so the first attempt fails after its effect.
func TestMailWhoseAnswerIsLostIsSentOnce(t *testing.T) {
	server, lost := map[string]int{}, errors.New("no answer")
	m := mailer{
		send: func(_ context.Context, id string, _ Order) error {
			server[id]++
			return lost
		},
		sent: func(_ context.Context, id string) (bool, error) { return server[id] > 0, nil },
	}
	confirm := idempotent.Wrap(executor(t, "confirm", nil), idempotent.Field(func(o Order) string { return o.OrderID }), m.confirm)
	_, err := confirm(t.Context(), Order{OrderID: "o-1"})
	check.Is(t, err, lost, "the first attempt")
	id, err := confirm(t.Context(), Order{OrderID: "o-1"})
	check.Nil(t, err, "the second attempt")
	check.Deep(t, server, map[string]int{id: 1}, "sent")
}
