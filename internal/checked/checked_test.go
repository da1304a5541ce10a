package checked

import (
	"crypto/rand"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// The record of a call has a hash behind its operation, and one that a program names has anything.
func TestOnlyTheRecordsOfChecksAreTheirs(t *testing.T) {
	check.True(t, Is(ID("pay", rand.Text())))
	for _, id := range []string{"", "pay#", "pay#once-check-", "pay#once-check-of-mine", ID("pay", rand.Text()) + "x", "once-check-" + rand.Text(),
		"pay#2ea6f34171d16d8c2d539a9c1d2c72bccd3d19c78bd41a2c737b103d8f5a14e5"} {
		check.False(t, Is(id), id)
	}
}
