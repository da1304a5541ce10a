package durablefunc

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/canonical"
)

// A starter starts executions in a service that knows them by name.
type starter struct {
	limit  int    // of an input, in bytes
	exists string // the code of the service's error for a name that exists
	start  func(ctx context.Context, name string, input []byte) error
	read   func(ctx context.Context, name string) (input []byte, err error) // nil if the client cannot
}

// ExecutionName returns the name of the execution that [StartExecution] and
// [StartWorkflow] start for a key. Tools use it to find the execution.
func ExecutionName(operation string, key idempotent.Key) (string, error) {
	id, err := key.RecordID(operation)
	if err != nil {
		return "", err
	}
	if key.Record != "" {
		return executionName(operation, canonical.SHA256([]byte(key.Record))), nil
	}
	return canonical.SHA256([]byte(id)), nil
}

// executionName returns 64 of the characters [0-9a-f]. Names of durable executions have
// at most 64, and those of Step Functions 80.
func executionName(operation, keyHash string) string {
	return canonical.SHA256([]byte(operation + "#" + keyHash))
}

// hasBody is a handlers.Delivery of any source.
type hasBody interface{ BodyJSON() ([]byte, error) }

// each returns a function that starts the execution of a record. It panics with the
// mistakes of its caller, and if the record needs a function for the input.
func each[D any](s *starter, caller string, input func(D) ([]byte, error), mistakes driver.Mistakes) func(context.Context, D) error {
	_, ok := any(*new(D)).(hasBody)
	mistakes.If(input == nil && !ok, "durablefunc: %s: the record has no body of its own, so the function for the input must not be nil", caller)
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
		return s.once(ctx, executionName(claim.Operation, claim.KeyHash), text)
	}
}

// once starts the execution with a name, unless it exists with the same input.
func (s *starter) once(ctx context.Context, name string, input []byte) error {
	switch {
	case len(input) > s.limit:
		return idempotent.Permanent(&ExecutionInputError{Size: len(input), Limit: s.limit})
	case !json.Valid(input):
		return idempotent.Permanent(&ExecutionInputError{Size: len(input), Limit: s.limit, NotJSON: true})
	}
	err := s.start(ctx, name, input)
	var coded interface{ ErrorCode() string }
	if !errors.As(err, &coded) || coded.ErrorCode() != s.exists {
		return err
	}
	exists := &ExecutionExistsError{Name: name, Err: err}
	if s.read == nil {
		return idempotent.Permanent(exists)
	}
	first, readErr := s.read(ctx, name)
	switch {
	case readErr != nil:
		exists.ReadErr = readErr
		return exists // the next delivery may learn more
	case canonical.Equal(first, input): // an equal body may be spelled differently
		return nil
	}
	exists.KeyReused = true
	return idempotent.Permanent(exists)
}
