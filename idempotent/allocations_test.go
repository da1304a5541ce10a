//go:build !race

// The race detector allocates as well.
package idempotent_test

import (
	"testing"

	"github.com/lambda-once/once/internal/check"
)

func TestDuplicateAllocations(t *testing.T) {
	n := testing.AllocsPerRun(500, duplicate(t, nil))
	check.True(t, n <= 15, n)
}
