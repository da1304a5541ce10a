// Command http is the server of docs/http.md.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdaurl"

	"github.com/lambda-once/once/dynamo/dynamoenv"
	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

type settings struct {
	users    map[string]string // by the SHA-256 of their tokens
	secret   []byte            // with which the provider signs its webhooks
	invoices string            // a table
}

func routes(store driver.Store, s settings) (http.Handler, error) {
	payments, err := idempotent.New("create-payment", store, nil)
	if err != nil {
		return nil, err
	}
	webhooks, err := idempotent.New("settle-invoice", store, nil)
	if err != nil {
		return nil, err
	}
	once := httpapi.Middleware(payments, httpapi.RequestScope(userOf), nil)
	onceForEachEvent := httpapi.Middleware(webhooks, httpapi.NoIdentity(), &httpapi.Options{Key: eventKey(s.secret)})

	mux := http.NewServeMux()
	mux.Handle("POST /payments", authenticate(s.users, once(http.HandlerFunc(createPayment))))
	mux.Handle("POST /webhooks", onceForEachEvent(settle(s.invoices)))
	return mux, nil
}

// function handles the events of a function URL in the mode BUFFERED, and of an HTTP API
// with payload format 2.0: they have one form.
func function(h http.Handler) func(context.Context, *events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
	serve := lambdaurl.Wrap(h)
	return func(ctx context.Context, event *events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
		response, err := serve(ctx, event)
		if err != nil {
			return events.LambdaFunctionURLResponse{}, err
		}
		body, err := io.ReadAll(response.Body)
		return events.LambdaFunctionURLResponse{
			StatusCode: response.StatusCode, Headers: response.Headers, Cookies: response.Cookies,
			Body: base64.StdEncoding.EncodeToString(body), IsBase64Encoded: true,
		}, err
	}
}

func main() {
	s := settings{secret: []byte(os.Getenv("WEBHOOK_SECRET")), invoices: os.Getenv("INVOICES_TABLE")}
	if err := json.Unmarshal([]byte(os.Getenv("USERS")), &s.users); err != nil || len(s.secret) == 0 || s.invoices == "" {
		log.Fatal("set WEBHOOK_SECRET, INVOICES_TABLE, and USERS as a JSON object: ", err)
	}
	store, err := dynamoenv.Open(context.Background(), nil) // the table of $IDEMPOTENCY_TABLE
	if err != nil {
		log.Fatal(err)
	}
	mux, err := routes(store, s)
	if err != nil {
		log.Fatal(err)
	}
	if os.Getenv("AWS_LAMBDA_FUNCTION_NAME") != "" {
		lambda.Start(function(mux))
	}
	server := http.Server{Addr: "localhost:8080", Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}
