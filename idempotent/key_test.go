package idempotent

import "testing"

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
		if got, err := c.key.RecordID("create-payment"); err != nil || got != c.want {
			t.Errorf("%+v: got %s, %v, want %s", c.key, got, err, c.want)
		}
	}
}

func TestRecordIDOfNoKey(t *testing.T) {
	for operation, key := range map[string]Key{
		"":               {ID: "a"},
		"create#payment": {ID: "a"},
		"create-payment": {Scope: "tenant"},
		"charge":         {ID: "a", Record: "b"},
	} {
		if id, err := key.RecordID(operation); err == nil {
			t.Errorf("%q, %+v: %s", operation, key, id)
		}
	}
}
