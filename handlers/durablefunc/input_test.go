package durablefunc_test

import (
	"context"
	"encoding/json"
	"errors"
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

// durableService is a service with the pages of one execution, by their markers.
type durableService struct {
	durablefunc.Service
	pages map[string]durablefunc.State
	err   error
	asked *int
}

func (s durableService) GetDurableExecutionState(_ context.Context, arn, token, marker string) (durablefunc.State, error) {
	if arn == "" || token == "" {
		return durablefunc.State{}, errors.New("it does not name the execution")
	}
	if s.asked != nil {
		if *s.asked++; *s.asked > 5 {
			return durablefunc.State{}, errors.New("it is asked for ever")
		}
	}
	return s.pages[marker], s.err
}

func theSale() durablefunc.Operation {
	return durablefunc.Operation{Type: "EXECUTION", StartTimestamp: time.Now(), InputPayload: `{"ID":"o-1","Cents":4200}`}
}

// onLaterPage returns a request whose first page of operations is empty.
func onLaterPage(t *testing.T) []byte {
	t.Helper()
	return durableState(t, begun(t, "durable-request.json"), func(state map[string]any) {
		state["Operations"], state["NextMarker"] = []any{}, "page-2"
	})
}

func durableState(t *testing.T, request []byte, change func(state map[string]any)) []byte {
	t.Helper()
	var r map[string]any
	check.Must(t, json.Unmarshal(request, &r))
	change(r["InitialExecutionState"].(map[string]any))
	request, err := json.Marshal(r)
	check.Must(t, err)
	return request
}

// An event near 6 MB is on a later page of the operations.
func TestDurableFetchesAnEventFromALaterPage(t *testing.T) {
	step := durablefunc.Operation{Type: "STEP"}
	for name, pages := range map[string]map[string]durablefunc.State{
		"the second": {"page-2": {Operations: []durablefunc.Operation{theSale()}}},
		"the third": {
			"page-2": {NextMarker: "page-3"},
			"page-3": {Operations: []durablefunc.Operation{theSale(), step}, NextMarker: "page-4"},
		},
		"not its first operation": {"page-2": {Operations: []durablefunc.Operation{step, theSale()}}},
	} {
		store, request := memory.New(0), onLaterPage(t)
		handler := durablefunc.Wrap(newExecutor(t, store, nil), time.Hour, saleID, func(_ context.Context, got []byte) ([]byte, error) {
			check.Equal(t, string(got), string(request), "the function received", name)
			return []byte(succeededResponse), nil
		}, &durablefunc.Options{Service: durableService{pages: pages}})
		answered(t, handler, request, succeededResponse, name)
		check.Equal(t, durableRecord(t, store).Status, driver.Completed, name)
	}
}

// A page that cannot be fetched, or says nothing, is fetched again by the next
// invocation.
func TestDurableReturnsTheErrorOfAPage(t *testing.T) {
	for name, test := range map[string]struct {
		service durableService
		want    error
	}{
		"failed":          {durableService{err: errors.New("throttled")}, durablefunc.ErrService},
		"last":            {durableService{}, durablefunc.ErrRequest},
		"a circle of two": {durableService{pages: map[string]durablefunc.State{"page-2": {NextMarker: "page-3"}, "page-3": {NextMarker: "page-2"}}}, durablefunc.ErrRequest},
		"a circle":        {durableService{pages: map[string]durablefunc.State{"page-2": {NextMarker: "page-2"}}}, durablefunc.ErrRequest},
		"of another":      {durableService{pages: map[string]durablefunc.State{"page-2": {Operations: []durablefunc.Operation{{Type: "STEP"}}}}}, durablefunc.ErrRequest},
	} {
		test.service.asked = new(int)
		handler := durablefunc.Wrap(newExecutor(t, memory.New(0), nil), time.Hour, saleID, answers(succeededResponse), &durablefunc.Options{Service: test.service})
		_, err := handler(t.Context(), onLaterPage(t))
		check.Is(t, err, test.want, name)
	}
}

// Otherwise every invocation would fail until the execution times out.
func TestDurableWithoutAServiceEndsAnExecutionWhoseEventIsOnALaterPage(t *testing.T) {
	endsWith(t, sold(t, memory.New(0), answers(succeededResponse)), onLaterPage(t), "NoEventError")
}

// An execution can be started without a payload. Its event is the zero event.
func TestDurableWithoutAPayloadHasTheZeroEvent(t *testing.T) {
	for name, details := range map[string]any{
		"no details": nil,
		"absent":     map[string]any{},
		"empty":      map[string]any{"InputPayload": ""},
		"null":       map[string]any{"InputPayload": nil},
		"JSON null":  map[string]any{"InputPayload": "null"},
	} {
		request := durableState(t, begun(t, "durable-request.json"), func(state map[string]any) {
			state["Operations"].([]any)[0].(map[string]any)["ExecutionDetails"] = details
		})
		key := func(s sale) (idempotent.Key, error) {
			check.Equal(t, s, sale{}, name)
			return idempotent.Key{ID: "o-1"}, nil
		}
		handler := durablefunc.Wrap(newExecutor(t, memory.New(0), nil), time.Hour, key, answers(succeededResponse), nil)
		answered(t, handler, request, succeededResponse, name)
	}
}

// An invocation before this one has run, and may have claimed a key.
func TestEventOnALaterPageOfAResumedExecutionFailsTheInvocation(t *testing.T) {
	_, err := sold(t, memory.New(0), answers(pendingResponse))(t.Context(), []byte(`{"DurableExecutionArn":"a","CheckpointToken":"t","InitialExecutionState":{"NextMarker":"m","Operations":[{"Type":"STEP"}]}}`))
	check.Is(t, err, durablefunc.ErrNoEvent)
}

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
