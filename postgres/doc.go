// Package postgres stores the records of package idempotent in a table of
// PostgreSQL.
//
//	store, err := postgres.New(pool, "idempotency", nil)
//
// [SQL] returns the statements that create the table, for a migration.
// [CreateTable] runs them.
//
// A claim, a completion and a duplicate cost one statement each, which is one round
// trip. A claim returns the record that it meets. If the condition of any other write
// fails, a second statement reads the record. Every write is conditional, so that two
// owners never both succeed. A duplicate only reads: it locks nothing, and writes
// nothing to disk.
//
// # Transactions
//
// [Transaction] gives a handler the transaction in which its call completes. [Collect]
// collects statements, and holds no connection: they are sent with the completion, in one
// round trip. In both, the write of the record is fenced, and raises an error in the
// database if the record is no longer the call's, so that nothing is committed.
package postgres
