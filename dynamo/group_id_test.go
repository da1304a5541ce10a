package dynamo

import (
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// The item of another record says nothing about this one: its owner must not be
// taken for the owner of a key.
func TestRefusalWithTheItemOfAnotherRecordGoesAlone(t *testing.T) {
	s, net := intercepted(t)
	s.createTogether(t, 3, owner)
	net.on(opBatch, duplicates("of another", func(i, n int) int { return (i + 1) % n }, func(any, map[string]any) {}))
	net.sent()
	for i, m := range s.createTogether(t, 3, rival) {
		check.False(t, m.ok)
		check.Nil(t, m.err)
		check.Equal(t, m.record.ID, id(i))
		check.Equal(t, m.record.Owner, owner)
	}
	check.Equal(t, net.sent(), opBatch+" PutItem PutItem PutItem")
}
