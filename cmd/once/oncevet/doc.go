// Package oncevet reads Go code that uses Once and reports handlers that are not safe to
// call twice. Each of its analyzers is one rule:
//
//	effect      an effect that is in no step and no transaction, and carries no key
//	stepname    the name of a step that repeats, is empty, or is data of the request
//	stepchoice  steps that the time, chance or the order of a map decides on
//	key         a key that a redelivery changes
//	nestedkey   a call within a call with the same executor and key
//	txafter     a transaction that leaves its handler
//	context     context.Background in place of the handler's context
//	permanent   an error whose class is lost on its way out
//	executor    an executor that each invocation makes anew
//	noresult    a result or payload of which nothing is stored
//	optimistic  Config.Optimistic with a handler for which it is not made
//	durable     a call around operations of a durable execution
//
// A finding says why the code is wrong, what can happen, and what to write. A line is
// accepted with a comment on it or above it, which names the rule and says why:
//
//	//oncevet:ignore effect the table ignores a second row
//
// # What it sees
//
// It would rather miss a mistake than report correct code: it finds all 48 defects that are
// seeded in testdata, and reports none of the 64 near misses beside them. It follows a handler through
// functions and methods of the same package whose callee is known, and through variables
// and fields that are set there. Calls of interfaces and of other packages are not followed.
//
// Deletions are no finding, because a repetition deletes nothing more. Neither is an effect
// with a condition, a token, a downstream key, or a key that its function receives as a
// parameter, nor one under Config.MaxAttempts, after which a person decides.
package oncevet
