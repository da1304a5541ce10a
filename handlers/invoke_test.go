package handlers_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

type withdrawal struct{ ID string }

func TestInvoke(t *testing.T) {
	runs := 0
	key := idempotent.Field(func(o withdrawal) string { return o.ID })
	handler := lambda.NewHandler(handlers.Invoke(newExecutor(t, memory.New(0), nil), key, func(_ context.Context, o withdrawal) (string, error) {
		if runs++; o.ID == "declined" {
			return "", idempotent.Permanent(&declinedError{"51"})
		}
		return "paid", nil
	}))
	for range 2 {
		if out, err := handler.Invoke(t.Context(), []byte(`{"ID":"1"}`)); err != nil || string(out) != `"paid"` {
			t.Errorf("got %s, %v", out, err)
		}
	}
	_, first := handler.Invoke(t.Context(), []byte(`{"ID":"declined"}`))
	if _, ok := first.(*declinedError); !ok {
		t.Errorf("got a %T", first)
	}
	_, again := handler.Invoke(t.Context(), []byte(`{"ID":"declined"}`))
	if e, ok := again.(messages.InvokeResponse_Error); !ok || e.Type != "declinedError" || e.Message != first.Error() || e.ShouldExit {
		t.Errorf("got a %T: %v", again, again)
	}
	if _, err := handler.Invoke(t.Context(), []byte(`{}`)); !errors.Is(err, idempotent.ErrMissingKey) {
		t.Errorf("got %v", err)
	}
	if runs != 2 {
		t.Errorf("%d runs", runs)
	}
}
