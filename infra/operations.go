package infra

import (
	"slices"
	"strings"
	"unicode"
)

// operations are those that the function is said to have.
func (f *IdempotentFunction) operations() []string {
	if f.props.Operations == nil && f.props.Execute != nil {
		return f.props.Execute.Operations
	}
	return f.props.Operations
}

// stated are the operations that functions say they have, each once.
func stated(functions []*IdempotentFunction) []string {
	var operations []string
	for _, f := range functions {
		if f == nil {
			continue
		}
		for _, operation := range f.operations() {
			if !slices.Contains(operations, operation) {
				operations = append(operations, operation)
			}
		}
	}
	return operations
}

func refuseOperations(operations []string) problems {
	var found problems
	names := map[string]bool{}
	for _, operation := range operations {
		found.when(operation == "" || names[operation], "Operations: %q is empty or there twice", operation)
		found.when(!ascii(operation), "Operations: %q is not ASCII, and CloudWatch takes nothing else for a dimension", operation)
		found.when(len(operation) > 255, "Operations: %q is longer than the 255 characters that CloudWatch takes for a dimension", operation)
		names[operation] = true
	}
	return found
}

// refuseUnknown finds operations that no function has: nobody writes their
// metrics, and their alarms never ring. A function that states none may have
// any.
func refuseUnknown(functions []*IdempotentFunction, operations []string) problems {
	var found problems
	if len(functions) == 0 || slices.ContainsFunc(functions, func(f *IdempotentFunction) bool { return f == nil || len(f.operations()) == 0 }) {
		return found
	}
	known := stated(functions)
	for _, operation := range operations {
		found.when(!slices.Contains(known, operation), "Operations: no function has %q; they have %q", operation, known)
	}
	return found
}

func ascii(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}
