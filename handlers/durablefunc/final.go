package durablefunc

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
)

// end ends an execution with an error that no retry overcomes. But an execution that
// has run before may have claimed a key, which only its key function knows: a later
// invocation may find it, and the end of the execution would hold it.
func (e execution) end(err error) ([]byte, error) {
	if e.resumed && hasNoKey(err) {
		return nil, err
	}
	return failedResponse(err)
}

// hasNoKey reports whether an error, which is the same in every retry, leaves an
// execution without its key.
func hasNoKey(err error) bool {
	return isAny(err, handlers.ErrDecode, ErrNoEvent, idempotent.ErrInvalidKey, idempotent.ErrInvalidPayload, idempotent.ErrMissingKey)
}

// isFinal reports whether an error of the executor is the same in every retry.
func isFinal(err error) bool {
	var lost *idempotent.ResultUnavailableError
	if errors.As(err, &lost) {
		return lost.Err == nil || errors.Is(lost.Err, ErrResponse) // of a different kind of handler
	}
	return hasNoKey(err) || isAny(err, idempotent.ErrKeyExpired, idempotent.ErrKeyReused, idempotent.ErrOutcomeUnknown, idempotent.ErrReplayed, idempotent.ErrStepsLeft)
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// failedResponse ends an execution with an error that no retry overcomes.
func failedResponse(err error) ([]byte, error) {
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := t.Name()
	var replayed *idempotent.ReplayedError
	if errors.As(err, &replayed) {
		name = replayed.Type
	}
	type failure struct{ ErrorType, ErrorMessage string }
	return json.Marshal(struct {
		Status string
		Error  failure
	}{failed, failure{name, err.Error()}})
}
