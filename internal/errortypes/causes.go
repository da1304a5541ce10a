package errortypes

import (
	"go/ast"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// CheckCauses tests the errors of the package whose tests call it. Each of causes has
// the name of an exported error type, and returns an error of that type or around it.
// All exported types must have a cause, and no error in a chain may be of an unexported
// type of this project, of package errors or of package fmt.
func CheckCauses(t *testing.T, causes map[string]func(*testing.T) error) {
	t.Helper()
	p, err := Parse(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range p.Types() {
		if causes[name] == nil {
			t.Errorf("%s has no cause", name)
		}
	}
	for name, cause := range causes {
		err := cause(t)
		if err == nil || err.Error() == "" {
			t.Errorf("%s: got %v", name, err)
		}
		var names []string
		for _, of := range typesIn(err) {
			names = append(names, of.Name())
			own := strings.Contains(of.PkgPath(), "/once/") && !strings.HasSuffix(of.PkgPath(), "_test")
			if !ast.IsExported(of.Name()) && (own || of.PkgPath() == "errors" || of.PkgPath() == "fmt") {
				t.Errorf("%s: %v is in it: %v", name, of, err)
			}
		}
		if !slices.Contains(names, name) {
			t.Errorf("%s: got a %T: %v", name, err, err)
		}
	}
}

// typesIn returns the types of an error and of all that it wraps.
func typesIn(err error) []reflect.Type {
	if err == nil {
		return nil
	}
	of := reflect.TypeOf(err)
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	all := []reflect.Type{of}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		all = append(all, typesIn(e.Unwrap())...)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			all = append(all, typesIn(inner)...)
		}
	}
	return all
}
