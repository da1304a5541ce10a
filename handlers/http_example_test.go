package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// A user of an HTTP API clicks twice.
func ExampleAPIGatewayV2() {
	x, err := idempotent.New("create-payment", memory.New(0), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	payments := 0
	handler := handlers.APIGatewayV2(x, handlers.JWTClaim("sub"), func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
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
		answer, err := handler(context.Background(), event)
		fmt.Println(answer.StatusCode, answer.Body, answer.Headers["Idempotent-Replayed"], err)
	}
	// Output:
	// 201 {"payment":1}  <nil>
	// 201 {"payment":1} true <nil>
}

// A client of a service on ECS uses one key for two requests.
func ExampleMiddleware() {
	x, err := idempotent.New("create-payment", memory.New(0), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	caller := handlers.RequestScope(func(r *http.Request) (string, error) {
		user, _, _ := r.BasicAuth() // checked by what is around the middleware
		return user, nil
	})
	server := handlers.Middleware(x, caller, nil)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
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
