package idempotent

import (
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// The layout of record ids is stored data: changing it loses every record.
func TestRecordIDIsStable(t *testing.T) {
	for _, c := range []struct {
		key  Key
		want string
	}{
		{Key{Scope: "tenant", ID: "8e03978e"}, "create-payment#3d1b2ac5b06c19c71e5bcc920e546b1899e77606a9789a540bba9a3b3d1bb2be"},
		{Key{ID: "8e03978e"}, "create-payment#1d6df0fbe4e0963fbd69faba07b7f942d4d8998237bdc2d8168654a643e30d09"},
		{Key{Record: "charge.handler#9f86"}, "charge.handler#9f86"},
	} {
		got, err := c.key.RecordID("create-payment")
		check.Nil(t, err, c.key)
		check.Equal(t, got, c.want, c.key)
	}
}

func TestRecordIDOfNoKey(t *testing.T) {
	for operation, key := range map[string]Key{
		"":               {ID: "a"},
		"create#payment": {ID: "a"},
		"create-payment": {Scope: "tenant"},
		"charge":         {ID: "a", Record: "b"},
	} {
		_, err := key.RecordID(operation)
		check.Failed(t, err, operation, key)
	}
}
