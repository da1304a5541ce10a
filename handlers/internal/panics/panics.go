// Package panics keeps panics of a user's function from a handler.
package panics

import (
	"errors"
	"runtime/debug"
)

// Catch calls fn. If fn panics, Catch returns the error that panicked returns for
// the value and the stack.
func Catch(fn func() error, panicked func(value any, stack []byte) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p, debug.Stack())
		}
	}()
	return fn()
}

// Ignore calls fn, and returns also if fn panics. A method of a typed nil does.
func Ignore(fn func()) {
	defer func() { _ = recover() }()
	fn()
}

// Readable reports whether the methods of an error return. Those of a typed nil panic.
func Readable(err error) (ok bool) {
	if err == nil {
		return true
	}
	Ignore(func() { _, _, ok = errors.Is(err, errRead), err.Error(), true })
	return ok
}

var errRead = errors.New("panics: read")
