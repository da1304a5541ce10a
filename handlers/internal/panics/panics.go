// Package panics keeps panics of a user's function from a handler.
package panics

import "runtime/debug"

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
