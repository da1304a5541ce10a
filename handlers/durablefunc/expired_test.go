package durablefunc_test

import (
	"context"
	"testing"
	"time"

	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// No retry makes a key younger. An execution that has claimed its key in time keeps it
// however long it takes, unless a person deletes its record: its key is then too old.
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
	page, err := store.Scan(t.Context(), driver.Filter{}, "")
	check.Must(t, err)
	claimed, err := store.Inspect(t.Context(), page.Entries[0].ID)
	check.Must(t, err)
	_, ok, err := store.Apply(t.Context(), claimed, driver.Change{Release: driver.ReleaseDelete})
	check.Must(t, err)
	check.True(t, ok, "the record is deleted")
	endsWith(t, handler, request, "KeyExpiredError")

	check.Must(t, store.Put(claimed.Record))
	answered(t, handler, request, succeededResponse)
}
