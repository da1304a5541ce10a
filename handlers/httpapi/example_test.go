package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// A user of an HTTP API clicks twice. The second click receives the first
// response.
func ExampleAPIGatewayV2() {
	x, err := idempotent.New("create-payment", memory.New(0), nil)
	if err != nil {
		log.Fatal(err)
	}
	payments := 0
	handler := httpapi.APIGatewayV2(x, httpapi.JWTClaim("sub"), func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		payments++
		return events.APIGatewayV2HTTPResponse{StatusCode: 201, Body: fmt.Sprintf(`{"payment":%d}`, payments)}, nil
	}, nil)

	event := events.APIGatewayV2HTTPRequest{
		RawPath: "/payments",
		Headers: map[string]string{"idempotency-key": "8e03978e-40d5-43dd-bc93-6894a57f9324"},
		Body:    `{"amount":1299}`,
	}
	event.RequestContext.HTTP.Method = "POST"
	event.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
		JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"sub": "ada"}},
	}
	for range 2 {
		response, err := handler(context.Background(), event)
		fmt.Println(response.StatusCode, response.Body, response.Headers["Idempotent-Replayed"], err)
	}
	// Output:
	// 201 {"payment":1}  <nil>
	// 201 {"payment":1} true <nil>
}

// A client of a service on ECS uses one key for two requests.
func ExampleMiddleware() {
	x, err := idempotent.New("create-payment", memory.New(0), nil)
	if err != nil {
		log.Fatal(err)
	}
	caller := httpapi.RequestScope(func(r *http.Request) (string, error) {
		user, _, _ := r.BasicAuth() // verified by an outer middleware
		return user, nil
	})
	server := httpapi.Middleware(x, caller, nil)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
	}))
	for _, body := range []string{`{"amount":1299}`, `{"amount":99900}`} {
		r := httptest.NewRequest("POST", "/payments", strings.NewReader(body))
		r.SetBasicAuth("ada", "secret")
		r.Header.Set("Idempotency-Key", `"8e03978e-40d5-43dd-bc93-6894a57f9324"`)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		fmt.Println(w.Code, http.StatusText(w.Code))
	}
	// Output:
	// 201 Created
	// 422 Unprocessable Entity
}

// A payment provider repeats a webhook. Its event's id, in the body, is the key.
func ExampleOptions() {
	x, err := idempotent.New("payment-webhook", memory.New(0), nil)
	if err != nil {
		log.Fatal(err)
	}
	eventID := func(r httpapi.Request) (idempotent.Key, error) {
		var event struct{ ID string }
		if err := json.Unmarshal(r.Body, &event); err != nil {
			return idempotent.Key{}, &idempotent.InvalidPayloadError{Offset: -1, Reason: "the body is not JSON", Err: err}
		}
		return idempotent.Key{ID: event.ID}, nil
	}
	handler := httpapi.FunctionURL(x, httpapi.NoIdentity(), func(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
		fmt.Println("booked")
		return events.LambdaFunctionURLResponse{StatusCode: 204}, nil
	}, &httpapi.Options{Key: eventID})

	event := events.LambdaFunctionURLRequest{Body: `{"id":"evt_1","amount":1299}`}
	event.RequestContext.HTTP.Method = "POST"
	for range 2 {
		response, err := handler(context.Background(), event)
		fmt.Println(response.StatusCode, err)
	}
	event.Body = `{"amount":1299}`
	response, err := handler(context.Background(), event)
	fmt.Println(response.StatusCode, err)
	// Output:
	// booked
	// 204 <nil>
	// 204 <nil>
	// 400 <nil>
}

// A reservation fails after the card was charged. The charge is refunded, and
// every repetition receives the same problem.
func ExampleStatusError() {
	x, err := idempotent.New("reserve-seat", memory.New(0), nil)
	if err != nil {
		log.Fatal(err)
	}
	protect := httpapi.Middleware(x, httpapi.NoIdentity(), nil)
	server := protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := idempotent.SagaStep(r.Context(), "charge",
			func(context.Context) (string, error) { fmt.Println("charged"); return "ch_1", nil },
			func(_ context.Context, charge string) error { fmt.Println("refunded", charge); return nil })
		if err == nil {
			err = &httpapi.StatusError{Status: http.StatusGone, Detail: "The last seat is taken."}
		}
		httpapi.Fail(w, r, err)
	}))
	for range 2 {
		r := httptest.NewRequest("POST", "/seats", nil)
		r.Header.Set("Idempotency-Key", "k1")
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Body)
	}
	// Output:
	// charged
	// refunded ch_1
	// 410 {"type":"about:blank","title":"Gone","status":410,"detail":"The last seat is taken."}
	// 410 {"type":"about:blank","title":"Gone","status":410,"detail":"The last seat is taken."}
}
