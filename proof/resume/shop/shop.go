package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent"
)

// customer is the key of the customer in a context.
type customer struct{}

// shop reserves an item and charges a card at two services, and then stores the order.
type shop struct {
	url   string
	order func(ctx context.Context, id, customer string) error
}

type made struct {
	ID string `json:"id"`
}

func (s shop) serve(ctx context.Context, e events.APIGatewayV2HTTPRequest) (none events.APIGatewayV2HTTPResponse, err error) {
	who, _ := ctx.Value(customer{}).(string)
	if who == "" {
		return none, fmt.Errorf("nobody has put the customer into the context")
	}
	reserved, err := idempotent.SagaStep(ctx, "reserve", s.making("/reservations", e.Body), s.undoing("/releases"))
	if err != nil {
		return none, err
	}
	if _, err := idempotent.SagaStep(ctx, "charge", s.making("/charges", e.Body), s.undoing("/refunds")); err != nil {
		return none, err
	}
	if err := s.order(ctx, reserved.ID, who); err != nil {
		return none, err
	}
	return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusCreated, Body: reserved.ID + " of " + who}, nil
}

func (s shop) making(path, body string) func(context.Context) (made, error) {
	return func(ctx context.Context) (made, error) { return s.post(ctx, path, []byte(body)) }
}

func (s shop) undoing(path string) func(context.Context, made) error {
	return func(ctx context.Context, m made) error {
		body, err := json.Marshal(m)
		if err == nil {
			_, err = s.post(ctx, path, body)
		}
		return err
	}
}

// post is one call to a service, before and after which the process may be killed.
func (s shop) post(ctx context.Context, path string, body []byte) (m made, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, bytes.NewReader(body))
	if err != nil {
		return made{}, err
	}
	request.Header.Set("Idempotency-Key", idempotent.DownstreamKey(ctx, path))
	defer beginCall()()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return made{}, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusCreated:
		return m, json.NewDecoder(response.Body).Decode(&m)
	case http.StatusPaymentRequired:
		return made{}, idempotent.Permanent(&declinedError{})
	}
	return made{}, fmt.Errorf("POST %s: %s", path, response.Status)
}

type declinedError struct{}

func (*declinedError) Error() string { return "the card was declined" }
