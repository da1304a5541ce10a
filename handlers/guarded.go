package handlers

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// guarded makes an error of a panic.
func guarded(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return call()
}

// readable replaces an error that panics when it is looked at, as a typed nil
// does: everybody who is told of it would panic too.
func readable(err error) error {
	if err == nil {
		return nil
	}
	if guarded(func() error { _ = errors.Is(err, errUnfinished); _ = err.Error(); return nil }) != nil {
		return &UnreadableError{Type: fmt.Sprintf("%T", err)}
	}
	return err
}
