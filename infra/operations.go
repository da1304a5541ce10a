package infra

import (
	"slices"
	"strings"
	"unicode"
)

func (f *IdempotentFunction) operations() []string {
	if f.props.Operations == nil && f.props.Execute != nil {
		return f.props.Execute.Operations
	}
	return f.props.Operations
}

// stated returns the operations that the functions state, without duplicates and without
// those of functions that write no metrics.
func stated(functions []*IdempotentFunction) []string {
	var operations []string
	for _, f := range functions {
		if f == nil || f.props.NoMetrics {
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

func refuseOperations(operations []string) (found problems) {
	names := map[string]bool{}
	for _, operation := range operations {
		found.when(strings.TrimSpace(operation) == "" || names[operation], "Operations: %q is blank or listed twice", operation)
		found.when(strings.ContainsFunc(operation, func(r rune) bool { return r > unicode.MaxASCII }), "Operations: %q is not ASCII, which CloudWatch requires of a dimension", operation)
		found.when(strings.HasPrefix(operation, ":"), "Operations: %q begins with a colon, which CloudWatch refuses in a dimension", operation)
		found.when(strings.ContainsFunc(operation, unicode.IsControl), "Operations: %q has a control character, which CloudWatch refuses in a dimension", operation)
		found.when(len(operation) > 255, "Operations: %q is longer than the 255 characters of a CloudWatch dimension", operation)
		names[operation] = true
	}
	return found
}

// refuseUnknown reports operations that no function with metrics states: their alarms would
// never ring, for lack of a metric. A function that states none may have any.
func refuseUnknown(functions []*IdempotentFunction, operations []string) (found problems) {
	if len(functions) == 0 || slices.ContainsFunc(functions, func(f *IdempotentFunction) bool { return f == nil || len(f.operations()) == 0 }) {
		return found
	}
	known := stated(functions)
	for _, operation := range operations {
		found.when(!slices.Contains(known, operation), "Operations: no function with metrics states %q; they state %q", operation, known)
	}
	return found
}
