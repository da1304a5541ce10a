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
		if out, err := handler.Invoke(t.Context(), []byte(`{"ID":"1"}`)); err != nil || string(out) != `"paid"` {
			t.Errorf("got %s, %v", out, err)
		}
	}
	_, first := handler.Invoke(t.Context(), []byte(`{"ID":"declined"}`))
	if _, ok := first.(*handlertest.DeclinedError); !ok {
		t.Errorf("got a %T", first)
	}
	_, again := handler.Invoke(t.Context(), []byte(`{"ID":"declined"}`))
	if e, ok := again.(messages.InvokeResponse_Error); !ok || e.Type != "DeclinedError" || e.Message != first.Error() || e.ShouldExit {
		t.Errorf("got a %T: %v", again, again)
	}
	if _, err := handler.Invoke(t.Context(), []byte(`{}`)); !errors.Is(err, idempotent.ErrMissingKey) {
		t.Errorf("got %v", err)
	}
	if runs != 2 {
		t.Errorf("%d runs", runs)
	}
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
			if e, ok := errors.AsType[messages.InvokeResponse_Error](err); !ok || e.Type != test.want {
				t.Errorf("%s, %s: %#v", name, which, err)
			}
		}
	}
}
