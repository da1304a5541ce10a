package durablefunc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
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
		if _, err := keyedBy(t, store, &fails, pendingResponse)(t.Context(), begun(t, "durable-request.json")); err != nil {
			t.Fatal(err)
		}
		before := durableRecord(t, store)
		for _, fails = range []error{&handlertest.DeclinedError{Code: "timeout"}, context.DeadlineExceeded, idempotent.ErrReplayed, idempotent.ErrOutcomeUnknown} {
			got, err := keyedBy(t, store, &fails, succeededResponse)(t.Context(), begun(t, name))
			if !errors.Is(err, fails) {
				t.Errorf("%s, %v: %s, %v", name, fails, got, err)
			}
			if r := durableRecord(t, store); r.Owner != before.Owner || r.Status != driver.InProgress {
				t.Errorf("%s, %v: it left %+v", name, fails, r)
			}
		}
		fails = nil
		if got, err := keyedBy(t, store, &fails, succeededResponse)(t.Context(), begun(t, name)); err != nil || string(got) != succeededResponse {
			t.Errorf("%s: %s, %v", name, got, err)
		}
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
		got, err := handler(t.Context(), begun(t, "durable-request.json"))
		if err != nil || !strings.HasPrefix(string(got), `{"Status":"FAILED","Error":{"ErrorType":"`+want+`",`) {
			t.Errorf("%s: %s, %v", want, got, err)
		}
		for _, name := range []string{"durable-request-resumed.json", "durable-request-paged.json"} {
			if got, err := handler(t.Context(), begun(t, name)); !errors.Is(err, fails) {
				t.Errorf("%s of %s: %s, %v", want, name, got, err)
			}
		}
	}
}
