package handlers

import (
	"encoding/json"
	"errors"
	"reflect"

	"github.com/lambda-once/once/idempotent"
)

// isFinal reports whether an error of the executor is the same in every retry.
func isFinal(err error) bool {
	var lost *idempotent.ResultUnavailableError
	if errors.As(err, &lost) {
		return lost.Err == nil || errors.Is(lost.Err, ErrDurableResponse) // of another kind of handler
	}
	for _, final := range []error{
		idempotent.ErrInvalidKey, idempotent.ErrInvalidPayload, idempotent.ErrKeyReused, idempotent.ErrMissingKey,
		idempotent.ErrOutcomeUnknown, idempotent.ErrReplayed, idempotent.ErrStepsLeft,
	} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
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
	}{durableFailed, failure{name, err.Error()}})
}
