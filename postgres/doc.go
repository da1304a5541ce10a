// Package postgres stores the records of package idempotent in a table of
// PostgreSQL.
//
//	store, err := postgres.New(pool, "idempotency", nil)
//
// [SQL] returns the statements that create the table, for a migration.
// [CreateTable] runs them.
//
// A claim, a completion and a duplicate cost one statement each, which is one
// round trip: if the condition of a write fails, the same statement returns the
// stored record. Every write is conditional, so that two owners never both
// succeed. A duplicate only reads: it locks nothing, and writes nothing to disk.
package postgres
