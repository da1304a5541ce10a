package executions

import (
	"context"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/canonical"
)

// hasBody is a handlers.Delivery of any source.
type hasBody interface{ BodyJSON() ([]byte, error) }

// Start returns a function that calls start with the name and the input of the
// execution of a record. It panics with the mistakes of its caller, named caller, and
// if the record needs a function for the input.
func Start[D any](
	mistakes *driver.Mistakes, caller string, input func(D) ([]byte, error), start func(ctx context.Context, name string, input []byte) error,
) func(context.Context, D) error {
	_, ok := any(*new(D)).(hasBody)
	mistakes.If(input == nil && !ok, "%s: the record has no body of its own, so the function for the input must not be nil", caller)
	mistakes.Panic()
	if input == nil {
		input = func(d D) ([]byte, error) { return any(d).(hasBody).BodyJSON() }
	}
	return func(ctx context.Context, d D) error {
		claim, _ := idempotent.FromContext(ctx)
		if claim.KeyHash == "" {
			return &idempotent.MissingKeyError{Part: "id"} // without a name, each delivery would start its own
		}
		text, err := input(d)
		if err != nil {
			return err
		}
		return start(ctx, name(claim.Operation, claim.KeyHash), text)
	}
}

// Name returns the name of the execution for a key.
func Name(operation string, key idempotent.Key) (string, error) {
	id, err := key.RecordID(operation)
	if err != nil {
		return "", err
	}
	if key.Record != "" {
		return name(operation, canonical.SHA256([]byte(key.Record))), nil
	}
	return canonical.SHA256([]byte(id)), nil
}

// name returns 64 of the characters [0-9a-f]. Names of durable executions have at most
// 64, and those of Step Functions 80.
func name(operation, keyHash string) string {
	return canonical.SHA256([]byte(operation + "#" + keyHash))
}
