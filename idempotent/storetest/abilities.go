package storetest

import (
	"testing"

	"github.com/lambda-once/once/idempotent/driver"
)

// testAbilities is for decorators: one that hides what its store is able to do
// turns that off without a word.
func testAbilities(t *testing.T, h Harness) {
	_, able := h.Store.(driver.Transactional)
	if _, inner := h.Decorates.(driver.Transactional); inner && !able {
		t.Errorf("%T is Transactional, and %T, which decorates it, is not", h.Decorates, h.Store)
	}
	if able && h.Attach == nil {
		t.Errorf("%T is Transactional: the Harness needs Attach", h.Store)
	}
}
