package powertools

import (
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
)

// A Table is a table that functions with Powertools may write, too: the store of
// dynamoenv.Open or of dynamo.New.
type Table interface {
	// Shared returns a store in the table whose results Powertools reads: as
	// native attribute values or as JSON text, never compressed. It returns an
	// error if Powertools lacks an option of the table.
	Shared(native bool) (driver.Store, error)
}

// NewExecutor returns an Executor for records that functions with Powertools
// share. The keys of its calls come from a key function of this package. It
// replays the finished calls of such a function and refuses its running ones, and
// the function does the same with the calls of the Executor.
//
// It differs from [idempotent.New] in three ways. Results have the form that the
// dialect's library reads. Errors wrapped with [idempotent.Permanent] release
// the key, because Powertools has no failed records. And features whose data an
// unfenced takeover would lose are refused, with the reason: Config.MaxAttempts,
// Payloads, Sealer and a Codec that does not write JSON by NewExecutor, in a
// [*driver.ConfigError], and Step and SagaStep by the call, before they run.
//
// The Retention should be the expires_after_seconds of these functions. The
// operation names the calls for observers; it is no part of shared records.
func NewExecutor(operation string, table Table, d Dialect, config *idempotent.Config) (*idempotent.Executor, error) {
	var mistakes driver.Mistakes
	mistakes.If(table == nil, "powertools: the table is nil")
	mistakes.If(!d.valid(), "powertools: %v is no dialect", d)
	if err := mistakes.Err(); err != nil {
		return nil, err
	}
	store, err := table.Shared(d == TypeScript)
	if err != nil {
		return nil, &driver.ConfigError{Err: err}
	}
	return idempotent.New(operation, store, adapter.Shared(config))
}
