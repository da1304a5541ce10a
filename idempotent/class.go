package idempotent

import (
	"reflect"
	"slices"
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
