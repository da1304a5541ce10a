package durablefunc_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// keyedBy returns a durable function whose key function returns the error that err
// points to, until that is nil.
func keyedBy(t *testing.T, store driver.Store, err *error, response string) durablefunc.Handler {
	key := func(s sale) (idempotent.Key, error) {
		if *err != nil {
			return idempotent.Key{}, *err
		}
		return saleID(s)
	}
	return durablefunc.Wrap(newExecutor(t, store, nil), time.Hour, key, answers(response), nil)
}

// A lookup of the key function may fail once. The service repeats the invocation,
// also that of an execution that has claimed its key.
func TestDurableRepeatsAnErrorOfTheKeyFunction(t *testing.T) {
	for _, name := range []string{"durable-request.json", "durable-request-resumed.json"} {
		store := memory.New(0)
		var fails error
		_, err := keyedBy(t, store, &fails, pendingResponse)(t.Context(), begun(t, "durable-request.json"))
		check.Must(t, err)
		before := durableRecord(t, store)
		for _, fails = range []error{&handlertest.DeclinedError{Code: "timeout"}, context.DeadlineExceeded, idempotent.ErrReplayed, idempotent.ErrOutcomeUnknown} {
			_, err := keyedBy(t, store, &fails, succeededResponse)(t.Context(), begun(t, name))
			check.Is(t, err, fails, name)
			r := durableRecord(t, store)
			check.Equal(t, r.Owner, before.Owner, name)
			check.Equal(t, r.Status, driver.InProgress, name)
		}
		fails = nil
		answered(t, keyedBy(t, store, &fails, succeededResponse), begun(t, name), succeededResponse, name)
	}
}

// A new execution has claimed nothing, so it ends. One whose function has run before
// would end and hold the key that it has claimed.
func TestDurableWithoutAKeyEndsOnlyAnExecutionThatHasNotRun(t *testing.T) {
	for want, fails := range map[string]error{
		"MissingKeyError":     &idempotent.MissingKeyError{Part: "id"},
		"InvalidKeyError":     &idempotent.InvalidKeyError{Part: "ID", Reason: "is long"},
		"InvalidPayloadError": &idempotent.InvalidPayloadError{Offset: -1, Reason: "is no JSON"},
		"wrapError":           fmt.Errorf("no order: %w", &idempotent.MissingKeyError{Part: "id"}),
	} {
		handler := keyedBy(t, memory.New(0), &fails, succeededResponse)
		endsWith(t, handler, begun(t, "durable-request.json"), want)
		for _, name := range []string{"durable-request-resumed.json", "durable-request-paged.json"} {
			_, err := handler(t.Context(), begun(t, name))
			check.Is(t, err, fails, want, name)
		}
	}
}
