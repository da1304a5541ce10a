package infra

import (
	"regexp"
	"slices"
	"strings"
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

// dimension matches the values that CloudWatch takes for a dimension.
var dimension = regexp.MustCompile(`^[ -9;-~][ -~]{0,254}$`)

func refuseOperations(operations []string) (found problems) {
	names := map[string]bool{}
	for _, operation := range operations {
		blank := strings.TrimSpace(operation) == ""
		found.when(blank || names[operation], "Operations: %q is blank or listed twice", operation)
		found.when(!blank && !dimension.MatchString(operation),
			"Operations: %q is no dimension of CloudWatch, which has 1 to 255 printable characters of ASCII, and no colon at its beginning", operation)
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
