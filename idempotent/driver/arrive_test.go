package driver_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// If it waited, too little time would be left to send it again after a lost answer.
func TestWriteWithLessThanASecondLeftWaitsForNoSibling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan struct{})
		ctx := adapter.With(t.Context(), adapter.Sibling(func() (int, <-chan struct{}) { return 2, late }))
		for left, waits := range map[time.Duration]bool{time.Hour: true, time.Second: true, time.Second - 1: false, 0: false} {
			ctx, cancel := context.WithTimeout(ctx, left)
			coming, until := driver.Arrive(ctx)
			check.Equal(t, coming, 2, left)
			check.Equal(t, until != nil, waits, left)
			cancel()
		}
	})
}
