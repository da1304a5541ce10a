package handlers_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

type withdrawal struct{ ID string }

func TestInvokeReplaysResultsAndErrors(t *testing.T) {
	runs := 0
	key := idempotent.Field(func(o withdrawal) string { return o.ID })
	handler := lambda.NewHandler(handlers.Invoke(newExecutor(t, memory.New(0), nil), key, func(_ context.Context, o withdrawal) (string, error) {
		if runs++; o.ID == "declined" {
			return "", idempotent.Permanent(&handlertest.DeclinedError{Code: "51"})
		}
		return "paid", nil
	}))
	for range 2 {
		out, err := handler.Invoke(t.Context(), []byte(`{"ID":"1"}`))
		check.Nil(t, err)
		check.Equal(t, string(out), `"paid"`)
	}
	_, first := handler.Invoke(t.Context(), []byte(`{"ID":"declined"}`))
	_, ok := first.(*handlertest.DeclinedError)
	check.True(t, ok)
	_, again := handler.Invoke(t.Context(), []byte(`{"ID":"declined"}`))
	e, ok := again.(messages.InvokeResponse_Error)
	check.True(t, ok)
	check.Equal(t, e.Type, "DeclinedError")
	check.Equal(t, e.Message, first.Error())
	check.False(t, e.ShouldExit)
	_, err := handler.Invoke(t.Context(), []byte(`{}`))
	check.Is(t, err, idempotent.ErrMissingKey)
	check.Equal(t, runs, 2)
}

// Step Functions go by the name that Lambda reports, the first time and again.
func TestInvokeKeepsErrorTypes(t *testing.T) {
	bank := newExecutor(t, memory.New(0), nil)
	charge := func(ctx context.Context) error {
		_, err := idempotent.Do(ctx, bank, idempotent.Key{ID: "i"}, func(context.Context) (int, error) {
			return 0, idempotent.Permanent(&handlertest.DeclinedError{Code: "51"})
		})
		return err
	}
	if charge(t.Context()) == nil {
		t.Fatal("not declined")
	}
	for name, test := range map[string]struct {
		fails func(context.Context) error
		want  string
	}{
		"named by the handler": {func(context.Context) error {
			return idempotent.Permanent(messages.InvokeResponse_Error{Type: "CardDeclined", Message: "no"})
		}, "CardDeclined"},
		"of a call within": {func(ctx context.Context) error { return idempotent.Permanent(charge(ctx)) }, "DeclinedError"},
	} {
		handler := handlers.Invoke(newExecutor(t, memory.New(0), nil), idempotent.Field(func(s string) string { return s }), func(ctx context.Context, _ string) (string, error) {
			return "", test.fails(ctx)
		})
		for _, which := range []string{"first", "again"} {
			_, err := handler(t.Context(), "k")
			e, ok := errors.AsType[messages.InvokeResponse_Error](err)
			check.True(t, ok, name, which)
			check.Equal(t, e.Type, test.want, name, which)
		}
	}
}
