package s3payload

import (
	"errors"
	"fmt"
)

// The sentinels of the errors below, for errors.Is.
var (
	ErrAltered   = errors.New("s3payload: altered object")
	ErrMissing   = errors.New("s3payload: missing object")
	ErrReference = errors.New("s3payload: unknown reference")
	ErrTooLarge  = errors.New("s3payload: too large")
)

// MissingError says that a result's object is gone. See the bucket's lifecycle
// rules: they must not expire objects before the records.
type MissingError struct {
	Bucket, Key string
	Err         error // from the SDK
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("s3payload: the object %q is not in bucket %q: does its lifecycle end before the retention?", e.Key, e.Bucket)
}

// Is reports whether target is ErrMissing.
func (e *MissingError) Is(target error) bool { return target == ErrMissing }

// Unwrap gives Err.
func (e *MissingError) Unwrap() error { return e.Err }

// AlteredError says that an object is not what was put. Find out who writes to
// the prefix.
type AlteredError struct{ Bucket, Key string }

func (e *AlteredError) Error() string {
	return fmt.Sprintf("s3payload: the object %q in bucket %q is not what was put there", e.Key, e.Bucket)
}

// Is reports whether target is ErrAltered.
func (e *AlteredError) Is(target error) bool { return target == ErrAltered }

// ReferenceError says that a reference is none of this Store's: another kind of
// payload store has made it, one with another prefix, or nobody. Its text does
// not quote it.
type ReferenceError struct{ Reason string }

func (e *ReferenceError) Error() string { return "s3payload: the reference is refused: " + e.Reason }

// Is reports whether target is ErrReference.
func (e *ReferenceError) Is(target error) bool { return target == ErrReference }

// TooLargeError says that a result is larger than Options.MaxBytes.
type TooLargeError struct{ Bytes, Limit int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("s3payload: a result of %d bytes; Options.MaxBytes is %d", e.Bytes, e.Limit)
}

// Is reports whether target is ErrTooLarge.
func (e *TooLargeError) Is(target error) bool { return target == ErrTooLarge }

// Error is a call to S3 that failed otherwise: no permission, no bucket, no
// answer.
type Error struct {
	Op          string // the call, such as "GetObject"
	Bucket, Key string
	Err         error // from the SDK, or from the connection
}

func (e *Error) Error() string {
	return fmt.Sprintf("s3payload: %s of %q in bucket %q: %v", e.Op, e.Key, e.Bucket, e.Err)
}

// Unwrap gives Err.
func (e *Error) Unwrap() error { return e.Err }
