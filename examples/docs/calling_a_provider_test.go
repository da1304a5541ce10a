package docs_test

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// The code of docs/calling-a-provider.md.

type charging func(ctx context.Context, key string, amount int64) (string, error)

func payInvoices(store driver.Store, charge charging) (func(context.Context, Payment) (Receipt, error), error) {
	x, err := idempotent.New("pay-invoice", store, &idempotent.Config{
		ProviderMemory: 24 * time.Hour, // as long as Stripe remembers a key
	})
	if err != nil {
		return nil, err
	}
	return idempotent.Wrap(x, key, func(ctx context.Context, p Payment) (Receipt, error) {
		id, err := charge(ctx, idempotent.DownstreamKey(ctx, "charge"), p.Amount)
		return Receipt{ID: id}, err
	}), nil
}

// The provider's answers are lost until lost ends, and it forgets a key after 24 hours.
func TestProviderThatHasForgottenIsAskedByNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, lost, end, charges := memory.New(0), errors.New("no answer"), time.Now().Add(30*time.Hour), 0
		first := map[string]time.Time{}
		pay, err := payInvoices(store, func(_ context.Context, key string, _ int64) (string, error) {
			if at, known := first[key]; !known || time.Since(at) >= 24*time.Hour {
				first[key] = time.Now()
				charges++
			}
			if time.Now().Before(end) {
				return "", lost
			}
			return "ch-1", nil
		})
		check.Must(t, err)
		p := Payment{Customer: "ada", ID: "p-1", Amount: 990}
		_, err = pay(t.Context(), p)
		check.Is(t, err, lost, "the first attempt")
		time.Sleep(time.Hour)
		_, err = pay(t.Context(), p)
		check.Is(t, err, lost, "an hour later, the provider knows the key")
		corrected := p
		corrected.Amount = 991
		_, err = pay(t.Context(), corrected)
		check.Is(t, err, idempotent.ErrKeyReused, "a corrected request needs a new key")

		time.Sleep(71 * time.Hour)
		_, err = pay(t.Context(), p)
		check.Is(t, err, idempotent.ErrKeyForgotten, "three days later")
		check.Equal(t, charges, 1, "charges")

		// A person has looked, and refunded the charge: once release.
		page, err := store.Scan(t.Context(), driver.Filter{}, "")
		check.Must(t, err)
		check.Equal(t, len(page.Entries), 1, "records")
		e, err := store.Inspect(t.Context(), page.Entries[0].ID)
		check.Must(t, err)
		_, ok, err := store.Apply(t.Context(), e, driver.Change{Release: driver.ReleaseRefund})
		check.Must(t, err)
		check.True(t, ok, "the record is released")
		got, err := pay(t.Context(), p)
		check.Nil(t, err, "after the release")
		check.Equal(t, got, Receipt{ID: "ch-1"})
	})
}

// An error that says that nothing was sent leaves no record.
func TestRequestThatWasNotSentMayBeCorrectedUnderItsKey(t *testing.T) {
	sent := errors.New("connection refused")
	pay, err := payInvoices(memory.New(0), func(_ context.Context, _ string, amount int64) (string, error) {
		if amount == 990 {
			return "", idempotent.Retryable(sent)
		}
		return "ch-1", nil
	})
	check.Must(t, err)
	_, err = pay(t.Context(), Payment{Customer: "ada", ID: "p-1", Amount: 990})
	check.Is(t, err, sent)
	_, err = pay(t.Context(), Payment{Customer: "ada", ID: "p-1", Amount: 991})
	check.Nil(t, err)
}

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
