package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/lambda-once/once/idempotent"
)

// services are the inventory and the payment provider. The key of a request is
// unique to its step and the same in every attempt, so that the services recognise
// a repeated request.
type services struct{ url string }

// made is a reservation or a charge.
type made struct {
	ID string `json:"id"`
}

func (s *shop) reserve(o order) func(context.Context) (made, error) {
	return func(ctx context.Context) (made, error) {
		return s.services.post(ctx, "/reservations", map[string]any{"orderId": o.OrderID, "sku": o.SKU, "quantity": o.Quantity})
	}
}

func (s *shop) release(ctx context.Context, reservation made) error {
	_, err := s.services.post(ctx, "/releases", reservation)
	return err
}

func (s *shop) charge(o order) func(context.Context) (made, error) {
	return func(ctx context.Context) (made, error) {
		return s.services.post(ctx, "/charges", map[string]any{"orderId": o.OrderID, "amount": o.Amount, "card": o.Card})
	}
}

func (s *shop) refund(ctx context.Context, charge made) error {
	_, err := s.services.post(ctx, "/refunds", charge)
	return err
}

func (s services) post(ctx context.Context, path string, body any) (m made, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return made{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, bytes.NewReader(text))
	if err != nil {
		return made{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", idempotent.DownstreamKey(ctx, path))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return made{}, err
	}
	defer func() { err = cmp.Or(err, response.Body.Close()) }() // not joined: Lambda reports the outermost type
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return made{}, err
	}
	if err := refused(path, response.StatusCode); err != nil {
		return made{}, err
	}
	return m, json.Unmarshal(answer, &m)
}

// refused reports whether a response is a permanent failure. Other failures may
// have had its effect, and the next attempt repeats it with the same key. That
// includes 409, by which services report that the first request is still running.
func refused(path string, status int) error {
	switch status {
	case http.StatusCreated:
		return nil
	case http.StatusPaymentRequired:
		return idempotent.Permanent(&CardDeclinedError{})
	case http.StatusGone:
		return idempotent.Permanent(&OutOfStockError{})
	}
	return fmt.Errorf("POST %s: %d %s", path, status, http.StatusText(status))
}
