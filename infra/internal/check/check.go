// Package check compares in tests. Each call states one fact, so that a failure names
// the fact that does not hold. The last arguments name its subject.
package check

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// Equal fails the test unless got and want are deeply equal.
func Equal(t testing.TB, got, want any, about ...any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%sgot %v, want %v", subject(about), got, want)
	}
}

// Contains fails the test unless the text of got contains part.
func Contains(t testing.TB, got any, part string, about ...any) {
	t.Helper()
	if text := fmt.Sprint(got); !strings.Contains(text, part) {
		t.Errorf("%s%q is not in %s", subject(about), part, text)
	}
}

// Must ends the test at an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func subject(about []any) string {
	if len(about) == 0 {
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintln(about...), "\n") + ": "
}
