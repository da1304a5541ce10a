package durablefunc_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/errortypes"
)

var (
	golden      = handlertest.Golden
	newExecutor = handlertest.Executor
)

// ownErrors causes each error of the package: an invocation fails with it, or a
// response or a source's option has it.
var ownErrors = map[string]func(t *testing.T) error{
	"ExecutionInputError": func(t *testing.T) error {
		start := durablefunc.StartExecution(&startService{}, func(order) ([]byte, error) { return []byte("{"), nil })
		return durablefunc.Dispatch("pay", handlers.EventBridge, nil, func(ctx context.Context, _ handlers.EventBridgeEvent[order]) error {
			return start(ctx, order{})
		}, nil)(t.Context(), events.EventBridgeEvent{ID: "e", Detail: []byte("{}")})
	},
	"ExecutionExistsError": func(t *testing.T) error {
		return dispatched(t, &startService{fail: startedError{}}, "{}")
	},
	"ExpressWorkflowError": func(t *testing.T) error {
		return workflowDispatcher(t, &workflows{express: true}, machine)(`{"id":"o-1"}`)
	},
	"RequestError": func(t *testing.T) error {
		_, err := sold(t, memory.New(0), answers(pendingResponse))(t.Context(), []byte("{}"))
		return err
	},
	"ResponseError": func(t *testing.T) error {
		_, err := sold(t, memory.New(0), answers("{}"))(t.Context(), begun(t, "durable-request.json"))
		return err
	},
	"NoEventError": func(*testing.T) error { return &durablefunc.NoEventError{} }, // in a response
	"ServiceError": func(t *testing.T) error {
		o := &durablefunc.Options{Service: durableService{err: &handlertest.DeclinedError{Code: "denied"}}}
		_, err := durablefunc.Wrap(newExecutor(t, memory.New(0), nil), time.Hour, saleID, answers(pendingResponse), o)(t.Context(), onLaterPage(t))
		return err
	},
}

func TestEveryErrorHasAnExportedType(t *testing.T) { errortypes.CheckCauses(t, ownErrors) }
