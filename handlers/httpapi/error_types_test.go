package httpapi_test

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/handlers/internal/lambdaerror"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/errortypes"
)

// ownErrors causes each error of the package: a call fails with it, or an observer
// receives it.
var ownErrors = map[string]func(t *testing.T) error{
	"ResponseTooLargeError": func(t *testing.T) (err error) {
		protect := httpapi.Middleware(newExecutor(t, memory.New(0), nil), httpapi.NoIdentity(), &httpapi.Options{MaxResponseBytes: 1})
		postKeyed(protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, err = io.WriteString(w, "xx") })))
		return err
	},
	"RequestTooLargeError": func(t *testing.T) error {
		var observed error
		protect := httpapi.Middleware(newExecutor(t, memory.New(0), &idempotent.Config{Observer: handlertest.Observer(func(e idempotent.Event) { observed = e.Err })}), httpapi.NoIdentity(), &httpapi.Options{MaxRequestBytes: 1})
		postKeyed(protect(http.NotFoundHandler()))
		return observed
	},
	"UnstoredError": func(t *testing.T) error { return observedOf(t, 429, nil) },
	"StatusError":   func(t *testing.T) error { return observedOf(t, 0, &httpapi.StatusError{Status: 402}) },
	"NamedError": func(t *testing.T) error {
		return observedOf(t, 0, messages.InvokeResponse_Error{Type: "Declined", Message: "declined"})
	},
	"KeyFieldError": func(t *testing.T) error {
		o := &httpapi.Options{Key: func(httpapi.Request) (idempotent.Key, error) { return idempotent.Key{Scope: "s", ID: "k"}, nil }}
		_, err := postV2(t, newExecutor(t, memory.New(0), nil), httpapi.NoIdentity(), o, v2Response{StatusCode: 201}, nil)
		return err
	},
}

func observedOf(t *testing.T, status int, failed error) (seen error) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{Observer: handlertest.Observer(func(e idempotent.Event) { seen = e.Err })})
	_, _ = postV2(t, x, httpapi.NoIdentity(), nil, v2Response{StatusCode: status}, failed)
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
