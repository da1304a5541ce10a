// Package check compares in tests. Each call states one fact, so that a failure
// says which one does not hold. The last arguments say what it is about.
package check

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// Equal fails the test unless got is want.
func Equal[T comparable](t testing.TB, got, want T, about ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%sgot %s, want %s", prefix(about), text(got), text(want))
	}
}

// Differ fails the test if got is unwanted.
func Differ[T comparable](t testing.TB, got, unwanted T, about ...any) {
	t.Helper()
	if got == unwanted {
		t.Errorf("%sgot %s", prefix(about), text(got))
	}
}

// Slice fails the test unless got has the elements of want.
func Slice[T comparable](t testing.TB, got, want []T, about ...any) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%sgot %s, want %s", prefix(about), text(got), text(want))
	}
}

// Deep fails the test unless got and want are deeply equal.
func Deep(t testing.TB, got, want any, about ...any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%sgot %s, want %s", prefix(about), text(got), text(want))
	}
}

// Time fails the test unless got and want are the same instant.
func Time(t testing.TB, got, want time.Time, about ...any) {
	t.Helper()
	if !got.Equal(want) {
		t.Errorf("%sgot %v, which is %v after %v", prefix(about), got, got.Sub(want), want)
	}
}

// True fails the test unless ok.
func True(t testing.TB, ok bool, about ...any) {
	t.Helper()
	if !ok {
		t.Errorf("%sit does not hold", prefix(about))
	}
}

// False fails the test if bad.
func False(t testing.TB, bad bool, about ...any) {
	t.Helper()
	if bad {
		t.Errorf("%sit holds", prefix(about))
	}
}

// Contains fails the test unless part is in got.
func Contains(t testing.TB, got, part string, about ...any) {
	t.Helper()
	if !strings.Contains(got, part) {
		t.Errorf("%s%q is not in %q", prefix(about), part, got)
	}
}

// Lacks fails the test if part is in got.
func Lacks(t testing.TB, got, part string, about ...any) {
	t.Helper()
	if strings.Contains(got, part) {
		t.Errorf("%s%q is in %q", prefix(about), part, got)
	}
}

// Says fails the test unless part is in the text of err.
func Says(t testing.TB, err error, part string, about ...any) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("%sgot the error %v, want one with %q", prefix(about), err, part)
	}
}

// Nil fails the test if err is an error.
func Nil(t testing.TB, err error, about ...any) {
	t.Helper()
	if err != nil {
		t.Errorf("%sgot the error %v", prefix(about), err)
	}
}

// Must ends the test if err is an error.
func Must(t testing.TB, err error, about ...any) {
	t.Helper()
	if err != nil {
		t.Fatalf("%sgot the error %v", prefix(about), err)
	}
}

// Failed fails the test unless err is an error.
func Failed(t testing.TB, err error, about ...any) {
	t.Helper()
	if err == nil {
		t.Errorf("%sgot no error", prefix(about))
	}
}

// Is fails the test unless err is or wraps want.
func Is(t testing.TB, err, want error, about ...any) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%sgot the error %v, want %v", prefix(about), err, want)
	}
}

// As returns the error of type E that err is or wraps, and ends the test if
// there is none.
func As[E error](t testing.TB, err error, about ...any) (as E) {
	t.Helper()
	if !errors.As(err, &as) {
		t.Fatalf("%sgot the error %v, want one of type %T", prefix(about), err, as)
	}
	return as
}

func prefix(about []any) string {
	if len(about) == 0 {
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintln(about...), "\n") + ": "
}

// text returns v with quotes around strings, which makes empty ones visible.
func text(v any) string {
	format := "%+v"
	switch v.(type) {
	case string, []string, []byte:
		format = "%q"
	case error:
		format = "%v"
	}
	return fmt.Sprintf(format, v)
}
