package relay_test

import (
	"context"
	"testing"

	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/errortypes"
)

// ownErrors causes each error of the package, which an option receives.
var ownErrors = map[string]func(t *testing.T) error{
	"PublishError": func(t *testing.T) error {
		return relayed(t, &relay.Options{}, make([]error, 99))
	},
	"UnmarkedError": func(t *testing.T) error {
		return relayed(t, &relay.Options{Mark: func(context.Context, []driver.OutboxKey) error { return &handlertest.DeclinedError{} }}, nil)
	},
	"MessageError": func(t *testing.T) error { return published(t, newService(t).queue("q"), batch(""))[0] },
}

func relayed(t *testing.T, o *relay.Options, answer []error) error {
	var failures handlertest.Received
	o.OnFailure = failures.Receive
	handler := relay.Outbox(func(context.Context, string, []driver.OutboxMessage) ([]error, error) { return answer, nil }, o)
	if _, err := handlertest.Deliver(t.Context(), handler, handlertest.Golden(t, "outbox.json")); err != nil {
		return err
	}
	return failures.Failed[0]
}

func TestEveryErrorHasAnExportedType(t *testing.T) { errortypes.CheckCauses(t, ownErrors) }
