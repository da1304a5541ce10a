package idempotent

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"github.com/lambda-once/once/internal/form"
)

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

type retryableError struct{ err error }

func (e *retryableError) Error() string { return e.err.Error() }
func (e *retryableError) Unwrap() error { return e.err }

// bare removes the outermost class. Lambda reports the outermost type name, and
// Step Functions match on it: it has to be the user's.
func bare(err error) error {
	switch e := err.(type) {
	case *permanentError:
		return bare(e.err)
	case *retryableError:
		return bare(e.err)
	}
	return err
}

// classification is the class of an error.
type classification struct{ permanent, retryable bool }

// classify returns the class of a handler's error. A class that a call within
// the handler returned says nothing about the handler, which may have had its
// effects before that call.
func (f *frame) classify(err error) (class classification) {
	// An Unwrap that panics, as of a typed nil, asks for nothing more.
	defer func() { _ = recover() }()
	class.read(err)
	f.mu.Lock()
	inner := slices.Clone(f.innerErrors)
	f.mu.Unlock()
	f.outer.noteInner(bare(err))
	class.readAll(err, inner)
	return class
}

// noteInner records an error that a call within the handler returns, if it has
// a class. It records the error and not its class: a classified error may be a
// package's variable that the handler also returns by itself.
func (f *frame) noteInner(err error) {
	if f == nil {
		return
	}
	var left classification
	if left.readAll(err, nil); left == (classification{}) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.innerErrors = append(f.innerErrors, err)
}

// read looks at the error itself.
func (c *classification) read(err error) {
	switch err.(type) {
	case *permanentError:
		c.permanent = true
	case *retryableError:
		c.retryable = true
	}
}

// readAll looks at the tree of an error, but not below the inner errors.
func (c *classification) readAll(err error, inner []error) {
	if err == nil || slices.ContainsFunc(inner, func(i error) bool { return same(i, err) }) {
		return
	}
	c.read(err)
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		c.readAll(e.Unwrap(), inner)
	case interface{ Unwrap() []error }:
		for _, branch := range e.Unwrap() {
			c.readAll(branch, inner)
		}
	}
}

// same compares errors of any type, also of those for which == panics.
func same(a, b error) bool {
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// Permanent wraps an error of a handler to make it final. The error is stored,
// and every later call with the key returns it as a [*ReplayedError] without
// running the handler. The first call returns err itself. Without Permanent an
// error releases the key, and a retry runs the handler again.
//
// The record stores the error's type name, its message, and a code. Methods of
// the error replace them: ErrorType() string the name, and FailureMessage()
// string the message, of which the first 4 KiB are stored. The code comes from
// a method ErrorCode() string of any error in the chain. Keep secrets out of
// messages, as from any log.
//
// The class counts wherever it stands in the error's chain, but only for the
// innermost call that returns the error. An outer call whose handler returns
// the same error ignores it, if the inner call received the outer handler's
// context. An error wrapped with both Permanent and Retryable is permanent.
// Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// Retryable wraps an error of a handler that failed before its first effect.
// The attempt does not count against Config.MaxAttempts, and a first one without a
// finished step leaves no record. The call returns err itself. Retryable(nil) is nil.
func Retryable(err error) error {
	if err == nil {
		return nil
	}
	return &retryableError{err}
}

// describeFailure returns the stored form of err. A message that panics is no
// reason to run the work again.
func describeFailure(err error) (f form.Failure) {
	f.Type = typeName(bare(err))
	defer func() {
		if p := recover(); p != nil {
			f.Message = "the error has no message: its method panicked"
		}
	}()
	f.Message = form.Truncate(err.Error(), form.MaxFailureMessage)
	if public, ok := bare(err).(interface{ FailureMessage() string }); ok {
		f.Message = form.Truncate(public.FailureMessage(), form.MaxFailureMessage)
	}
	if named, ok := bare(err).(interface{ ErrorType() string }); ok {
		f.Type = form.Truncate(named.ErrorType(), form.MaxFailureName)
	}
	if coded, ok := errors.AsType[interface {
		error
		ErrorCode() string
	}](err); ok {
		f.Code = form.Truncate(coded.ErrorCode(), form.MaxFailureName)
	}
	return f
}

// Encode returns the stored form of the error: the Data of a record whose
// Status is [driver.Failed]. Tools use it to resolve a record by hand.
func (e *ReplayedError) Encode() ([]byte, error) { return form.Failure(*e).Encode() }

func decodeFailure(data []byte) (*ReplayedError, error) {
	e := new(ReplayedError)
	return e, json.Unmarshal(data, (*form.Failure)(e))
}

// typeName returns the name under which aws-lambda-go reports an error.
func typeName(err error) string {
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}
