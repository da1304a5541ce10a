// Package unrecorded provides a store that stores nothing. A dispatcher calls its
// records under an executor, but the service that it calls recognizes duplicates.
package unrecorded

import (
	"cmp"
	"context"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// Store is a driver.Store in which every claim and every change succeeds.
type Store struct{}

// Create returns r as if it had been written.
func (Store) Create(_ context.Context, r driver.Record, _ time.Time, _ any) (driver.Record, bool, error) {
	return r, true, nil
}

// Change returns the record that f names as if c had been applied to it.
func (Store) Change(_ context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	return driver.Record{
		ID: f.ID, Owner: cmp.Or(c.Owner, f.Owner), Attempt: f.Attempt, Status: cmp.Or(c.Status, driver.InProgress),
		Lease: c.Lease, Expires: c.Expires, Fingerprint: c.Fingerprint, Data: c.Data, Payload: c.Payload, Unavailable: c.Unavailable,
	}, true, nil
}

// Get returns no record.
func (Store) Get(context.Context, string) (driver.Record, error) { return driver.Record{}, nil }
