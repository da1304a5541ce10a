package httpapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/handlers/internal/lambdaerror"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/errortypes"
)

// ownErrors causes each error of the package: a call fails with it, or an observer
// receives it.
var ownErrors = map[string]func(t *testing.T) error{
	"ResponseTooLargeError": func(t *testing.T) (err error) {
		protect := httpapi.Middleware(newExecutor(t, memory.New(0), nil), httpapi.NoIdentity(), &httpapi.Options{MaxResponseBytes: 1})
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Idempotency-Key", "k")
		protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, err = io.WriteString(w, "xx") })).ServeHTTP(httptest.NewRecorder(), r)
		return err
	},
	"RequestTooLargeError": func(t *testing.T) error {
		var observed error
		protect := httpapi.Middleware(newExecutor(t, memory.New(0), &idempotent.Config{Observer: handlertest.Observer(func(e idempotent.Event) { observed = e.Err })}), httpapi.NoIdentity(), &httpapi.Options{MaxRequestBytes: 1})
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("xx"))
		r.Header.Set("Idempotency-Key", "k")
		protect(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), r)
		return observed
	},
	"UnstoredError": func(t *testing.T) error { return observedOf(t, 429, nil) },
	"StatusError":   func(t *testing.T) error { return observedOf(t, 0, &httpapi.StatusError{Status: 402}) },
	"NamedError": func(t *testing.T) error {
		return observedOf(t, 0, messages.InvokeResponse_Error{Type: "Declined", Message: "declined"})
	},
	"KeyFieldError": func(t *testing.T) error {
		_, err := requested(t, nil, &httpapi.Options{Key: func(httpapi.Request) (idempotent.Key, error) {
			return idempotent.Key{Scope: "s", ID: "k"}, nil
		}}, 201, nil)
		return err
	},
}

// requested returns the response to a request whose handler returns a status, or
// an error.
func requested(t *testing.T, o idempotent.Observer, options *httpapi.Options, status int, err error) (events.APIGatewayV2HTTPResponse, error) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{Observer: o})
	event := events.APIGatewayV2HTTPRequest{Headers: map[string]string{"idempotency-key": "k"}}
	event.RequestContext.HTTP.Method = http.MethodPost
	return httpapi.APIGatewayV2(x, httpapi.NoIdentity(), func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		return events.APIGatewayV2HTTPResponse{StatusCode: status}, err
	}, options)(t.Context(), event)
}

func observedOf(t *testing.T, status int, failed error) (seen error) {
	_, _ = requested(t, handlertest.Observer(func(e idempotent.Event) { seen = e.Err }), nil, status, failed)
	return seen
}

func TestEveryErrorHasAnExportedType(t *testing.T) { errortypes.CheckCauses(t, ownErrors) }

func TestSafeTextQuotesNoHandler(t *testing.T) {
	for want, err := range map[string]error{
		"httpapi: 402 Payment Required": &httpapi.StatusError{Status: 402, Type: "secret", Title: "secret", Detail: "secret", Err: errors.New("secret")},
		"*lambdaerror.NamedError":       lambdaerror.Named(messages.InvokeResponse_Error{Type: "secret", Message: "secret"}),
	} {
		check.Equal(t, idempotent.SafeText(err), want, err)
	}
}
