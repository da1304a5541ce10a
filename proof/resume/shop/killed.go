package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// KILL names the call of this process at which it is killed by SIGKILL: "before 3" or
// "after 3". CALLS is a file to which each call appends a byte.

var calls atomic.Int64

// beginCall counts a call to a store or a service, and returns the function that ends it.
func beginCall() (end func()) {
	number := calls.Add(1)
	if name := os.Getenv("CALLS"); name != "" {
		if f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			_, _ = f.WriteString(".")
			_ = f.Close()
		}
	}
	killAt("before", number)
	return func() { killAt("after", number) }
}

func killAt(when string, number int64) {
	if os.Getenv("KILL") == fmt.Sprint(when, " ", number) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	}
}

// killing is a store whose calls may kill the process.
type killing[S driver.Operable] struct{ store S }

func (k killing[S]) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	defer beginCall()()
	return k.store.Create(ctx, r, cutoff, with)
}

func (k killing[S]) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	defer beginCall()()
	return k.store.Change(ctx, f, c)
}

func (k killing[S]) Get(ctx context.Context, id string) (driver.Record, error) {
	defer beginCall()()
	return k.store.Get(ctx, id)
}

func (k killing[S]) Scan(ctx context.Context, f driver.Filter, after string) (driver.Page, error) {
	defer beginCall()()
	return k.store.Scan(ctx, f, after)
}

func (k killing[S]) Inspect(ctx context.Context, id string) (driver.Entry, error) {
	return k.store.Inspect(ctx, id)
}

func (k killing[S]) Apply(ctx context.Context, e driver.Entry, c driver.Change) (driver.Entry, bool, error) {
	return k.store.Apply(ctx, e, c)
}
