package idempotent

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"github.com/lambda-once/once/idempotent/internal/protocol"
)

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

type retryableError struct{ err error }

func (e *retryableError) Error() string { return e.err.Error() }
func (e *retryableError) Unwrap() error { return e.err }

// bare takes the outermost class off. Lambda reports the outermost type
// name, and Step Functions match on it: it has to be the user's.
func bare(err error) error {
	switch e := err.(type) {
	case *permanentError:
		return bare(e.err)
	case *retryableError:
		return bare(e.err)
	}
	return err
}

// classification is what an error asks for.
type classification struct{ permanent, retryable bool }

// classify reports what a handler's error asks for. Nothing in an error that a
// call within the handler returned says anything about the handler: it may have
// had its effects before that call.
func (in *inside) classify(err error) (class classification) {
	// An Unwrap that panics, as of a typed nil, asks for nothing more.
	defer func() { _ = recover() }()
	class.read(err)
	in.mu.Lock()
	inner := slices.Clone(in.innerErrors)
	in.mu.Unlock()
	in.outer.noteInner(bare(err))
	class.readAll(err, inner)
	return class
}

// noteInner notes an error that a call within the handler returns, if it still
// has a class. The error is noted and not its class: a classified error may be
// a package's variable that the handler goes on to return by itself.
func (in *inside) noteInner(err error) {
	if in == nil {
		return
	}
	var left classification
	if left.readAll(err, nil); left == (classification{}) {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.innerErrors = append(in.innerErrors, err)
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

// readAll looks at the tree of an error, but not below the inner ones.
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

// same compares errors of any type: == panics for some.
func same(a, b error) bool {
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// Permanent marks an error of a handler as final: it is stored, and every
// later call with the key gets it back as a [*ReplayedError] without running
// the handler. The first call returns err itself. Other errors release the
// key, and a retry runs the handler again.
//
// What is stored is the error's type name, or that of its method ErrorType()
// string if it has one, its message (the first 4 KiB), or that of its method
// FailureMessage() string if it has one, and, if an error in its chain has a
// method ErrorCode() string, that code. Keep secrets out of messages, as from
// any log.
//
// A mark counts wherever it stands in the error's chain, but only for the
// innermost call that the error passes: not for a call around it whose handler
// passes the error on, provided that the inner call got the outer handler's
// context. An error that is marked as both is permanent.
//
// Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// Retryable marks an error of a handler as one after which nothing was done:
// the attempt does not count against Config.MaxAttempts. Use it for what fails
// before the first effect. The call returns err itself.
//
// Retryable(nil) is nil.
func Retryable(err error) error {
	if err == nil {
		return nil
	}
	return &retryableError{err}
}

// describeFailure returns the stored form of err. A message that panics is no
// reason to run the work again.
func describeFailure(err error) (f protocol.Failure) {
	f.Type = typeName(bare(err))
	defer func() {
		if p := recover(); p != nil {
			f.Message = "the error has no message: its method panicked"
		}
	}()
	f.Message = protocol.Truncate(err.Error(), protocol.MaxFailureMessage)
	if public, ok := bare(err).(interface{ FailureMessage() string }); ok {
		f.Message = protocol.Truncate(public.FailureMessage(), protocol.MaxFailureMessage)
	}
	if named, ok := bare(err).(interface{ ErrorType() string }); ok {
		f.Type = protocol.Truncate(named.ErrorType(), protocol.MaxFailureName)
	}
	if coded, ok := errors.AsType[interface {
		error
		ErrorCode() string
	}](err); ok {
		f.Code = protocol.Truncate(coded.ErrorCode(), protocol.MaxFailureName)
	}
	return f
}

// Encode returns the stored form of the error, for tools that settle a record by
// hand: the Data of a record whose Status is [driver.Failed].
func (e *ReplayedError) Encode() ([]byte, error) { return protocol.Failure(*e).Encode() }

func decodeFailure(data []byte) (*ReplayedError, error) {
	e := new(ReplayedError)
	return e, json.Unmarshal(data, (*protocol.Failure)(e))
}

// typeName is the name under which aws-lambda-go reports an error.
func typeName(err error) string {
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}
