// Package executions starts executions that a service knows by name, so that the
// service recognizes duplicates: those of durable functions and of Step Functions.
package executions

import (
	"cmp"
	"context"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// Dispatch returns the handler of a source that calls start for each record, and
// stores nothing.
func Dispatch[D, O, H any](
	operation string,
	source func(*idempotent.Executor, func(D) (idempotent.Key, error), func(context.Context, D) error, O) H,
	key func(D) (idempotent.Key, error), start func(context.Context, D) error, o O,
) H {
	// There are no records to keep: the retention keeps sources from warning of it.
	x, err := idempotent.New(operation, unrecorded{}, &idempotent.Config{Retention: 28 * 24 * time.Hour})
	if err != nil {
		panic(err)
	}
	return source(x, key, start, o)
}

// unrecorded is a store that stores nothing: every claim and every change succeeds.
type unrecorded struct{}

// Create returns r as if it had been written.
func (unrecorded) Create(_ context.Context, r driver.Record, _ time.Time, _ any) (driver.Record, bool, error) {
	return r, true, nil
}

// Change returns the record that f names as if c had been applied to it.
func (unrecorded) Change(_ context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	return driver.Record{
		ID: f.ID, Owner: cmp.Or(c.Owner, f.Owner), Attempt: f.Attempt, Status: cmp.Or(c.Status, driver.InProgress),
		Lease: c.Lease, Expires: c.Expires, Fingerprint: c.Fingerprint, Data: c.Data, Payload: c.Payload, Unavailable: c.Unavailable,
	}, true, nil
}

// Get returns no record.
func (unrecorded) Get(context.Context, string) (driver.Record, error) { return driver.Record{}, nil }
