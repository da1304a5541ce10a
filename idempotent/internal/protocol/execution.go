package protocol

import "strings"

// executionMark separates the owner of an execution's claim from the name of the
// execution. Neither the hash nor a random token contains it.
const executionMark = ":"

// NameExecution returns an owner of ExecutionOwner that contains the name of its
// execution. Every claim and takeover writes it with the same request, so it is
// never that of an earlier owner.
func NameExecution(owner, execution string) string { return owner + executionMark + execution }

// NamedExecution returns the name of the execution that an owner contains, or "".
func NamedExecution(owner string) string {
	_, execution, _ := strings.Cut(owner, executionMark)
	return execution
}

// IsSameExecution reports whether two owners are those of one execution, or of one
// step within it, and of one attempt. One of them may lack the name: an earlier
// version of the function wrote it.
func IsSameExecution(a, b string) bool {
	a, _, _ = strings.Cut(a, executionMark)
	b, _, _ = strings.Cut(b, executionMark)
	return a == b
}
