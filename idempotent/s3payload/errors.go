package s3payload

import (
	"errors"
	"fmt"
)

// Sentinels of the error types below, for use with errors.Is.
var (
	ErrAltered   = errors.New("s3payload: altered object")
	ErrMissing   = errors.New("s3payload: missing object")
	ErrReference = errors.New("s3payload: unknown reference")
	ErrTooLarge  = errors.New("s3payload: too large")
)

// A MissingError reports that the object of a result does not exist. Check the
// lifecycle rules of the bucket: objects must not expire before their records.
type MissingError struct {
	Bucket, Key string
	Err         error // from the SDK
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("s3payload: object %q does not exist in bucket %q: check that lifecycle rules expire objects after their records", e.Key, e.Bucket)
}

// SafeText returns the whole text.
func (e *MissingError) SafeText() string { return e.Error() }

// Is reports whether target is ErrMissing.
func (e *MissingError) Is(target error) bool { return target == ErrMissing }

// Unwrap returns Err.
func (e *MissingError) Unwrap() error { return e.Err }

// An AlteredError reports that an object is not the one that was put. Find out
// who writes to the prefix.
type AlteredError struct{ Bucket, Key string }

func (e *AlteredError) Error() string {
	return fmt.Sprintf("s3payload: object %q in bucket %q was altered", e.Key, e.Bucket)
}

// SafeText returns the whole text.
func (e *AlteredError) SafeText() string { return e.Error() }

// Is reports whether target is ErrAltered.
func (e *AlteredError) Is(target error) bool { return target == ErrAltered }

// A ReferenceError reports that a reference does not belong to this Store. It was
// forged, or made by a Store with a different prefix or by a different kind of payload
// store. The text of the error does not quote the reference.
type ReferenceError struct{ Reason string }

func (e *ReferenceError) Error() string { return "s3payload: invalid reference: " + e.Reason }

// SafeText returns the whole text.
func (e *ReferenceError) SafeText() string { return e.Error() }

// Is reports whether target is ErrReference.
func (e *ReferenceError) Is(target error) bool { return target == ErrReference }

// A TooLargeError reports that a result is larger than Options.MaxBytes.
type TooLargeError struct{ Bytes, Limit int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("s3payload: result of %d bytes, Options.MaxBytes is %d", e.Bytes, e.Limit)
}

// SafeText returns the whole text.
func (e *TooLargeError) SafeText() string { return e.Error() }

// Is reports whether target is ErrTooLarge.
func (e *TooLargeError) Is(target error) bool { return target == ErrTooLarge }

// An Error reports a call to S3 that failed for the remaining reasons, such as no
// permission, no bucket or no response.
type Error struct {
	Op          string // name of the call, such as "GetObject"
	Bucket, Key string
	Err         error // from the SDK, or from reading the response
}

func (e *Error) Error() string {
	return fmt.Sprintf("s3payload: %s of %q in bucket %q: %v", e.Op, e.Key, e.Bucket, e.Err)
}

// SafeText returns the whole text.
func (e *Error) SafeText() string { return e.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }
