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

// unmarked takes the outermost mark off. Lambda reports the outermost type
// name, and Step Functions match on it: it has to be the user's.
func unmarked(err error) error {
	switch e := err.(type) {
	case *permanentError:
		return unmarked(e.err)
	case *retryableError:
		return unmarked(e.err)
	}
	return err
}

// asked is what the marks of an error ask for.
type asked struct{ permanent, retryable bool }

// judge says what a handler's error asks for. Nothing in an error that a call
// within the handler has given says anything about the handler: it may have
// had its effects before that call.
func (in *inside) judge(err error) (asks asked) {
	// An Unwrap that panics, as of a typed nil, asks for nothing more.
	defer func() { _ = recover() }()
	asks.read(err)
	in.mu.Lock()
	given := slices.Clone(in.given)
	in.mu.Unlock()
	in.outer.gets(unmarked(err))
	asks.readAll(err, given)
	return asks
}

// gets notes an error that a call within the handler gives, if there are marks
// left in it. It is the error that is noted and not its marks: a mark may be a
// package's variable that the handler goes on to return by itself.
func (in *inside) gets(err error) {
	if in == nil {
		return
	}
	var left asked
	if left.readAll(err, nil); left == (asked{}) {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.given = append(in.given, err)
}

// read looks at the error itself.
func (a *asked) read(err error) {
	switch err.(type) {
	case *permanentError:
		a.permanent = true
	case *retryableError:
		a.retryable = true
	}
}

// readAll looks at the tree of an error, but not below those given.
func (a *asked) readAll(err error, given []error) {
	if err == nil || slices.ContainsFunc(given, func(g error) bool { return same(g, err) }) {
		return
	}
	a.read(err)
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		a.readAll(e.Unwrap(), given)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			a.readAll(inner, given)
		}
	}
}

// same compares errors of any type: == panics for some.
func same(a, b error) bool {
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}
