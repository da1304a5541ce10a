// Package shop makes errors in every way.
package shop

import (
	"errors"
	"fmt"
)

// ErrSoldOut is a sentinel.
var ErrSoldOut = errors.New("sold out")

var errNoTable, limit = fmt.Errorf("no table"), 7

// SoldOutError has a type that anybody can name.
type SoldOutError struct{ Err error }

func (e *SoldOutError) Error() string { return "sold out" }
func (e *SoldOutError) Unwrap() error { return ErrSoldOut }

type hidden struct{}

func (hidden) Error() string { return "hidden" }

func Typed() error            { return &SoldOutError{Err: errors.New("none left")} }
func TypedSentinel() error    { return &SoldOutError{Err: errNoTable} }
func Compared(err error) bool { return err == errNoTable || errors.Is(err, ErrSoldOut) }
func Panics()                 { panic(fmt.Errorf("%d", limit)) }

func Cased(err error) int {
	switch err {
	case errNoTable:
		return limit
	}
	return 0
}

func Made() error           { return errors.New("none left") }
func Formatted() error      { return fmt.Errorf("%d left", limit) }
func Joined() error         { return errors.Join(nil, nil) }
func Sentinel() error       { return ErrSoldOut }
func HiddenSentinel() error { return errNoTable }
func Hidden() error         { return hidden{} }

type store[T any] struct{}

func (*store[T]) get() error { return errors.New("none left") }

func CasedAndMade(err error) error {
	switch err {
	case errNoTable:
		return errors.New("none left")
	}
	return nil
}
