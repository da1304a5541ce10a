package durablefunc_test

import (
	"context"
	"testing"
	"time"

	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// No retry makes a key younger. An execution that has claimed its key in time keeps it
// however long it takes.
func TestDurableEndsAnExecutionWhoseKeyIsTooOld(t *testing.T) {
	made := time.Now().Add(-25 * time.Hour)
	key := func(s sale) (idempotent.Key, error) { return idempotent.Key{ID: s.ID, Issued: made}, nil }
	response, store := "", memory.New(0)
	handler := durablefunc.Wrap(newExecutor(t, store, &idempotent.Config{RefuseLate: true}), time.Hour, key, func(context.Context, []byte) ([]byte, error) {
		return []byte(response), nil
	}, nil)
	request := begun(t, "durable-request.json")
	endsWith(t, handler, request, "KeyExpiredError")

	made, response = time.Now(), pendingResponse
	answered(t, handler, request, pendingResponse)
	made, response = made.Add(-25*time.Hour), succeededResponse
	answered(t, handler, request, succeededResponse)
}
