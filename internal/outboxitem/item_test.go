package outboxitem

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func TestDecodeReadsWhatEncodeWrites(t *testing.T) {
	for name, item := range map[string]Item{
		"one message": {Aggregate: "a", ID: "i", Created: time.UnixMilli(1).UTC(), Messages: []driver.OutboxMessage{{ID: "i-0", Aggregate: "a", Destination: "d", Body: []byte{0xff}}}},
		"two messages": {Aggregate: "a", ID: "i", Created: time.UnixMilli(0).UTC(), Messages: []driver.OutboxMessage{
			{ID: "i-0", Aggregate: "a", Destination: "d", Type: "t", Body: []byte{}, Attributes: map[string]string{"x": "", "y": "z"}},
			{ID: "i-1", Aggregate: "a", Destination: "e", Body: []byte("b")},
		}},
	} {
		got, err := Decode(item.Encode())
		check.Nil(t, err, name)
		check.Deep(t, got, item, name)
	}
}

func TestDecodeNamesTheAttributeThatIsWrong(t *testing.T) {
	item := Item{Aggregate: "a", ID: "i", Created: time.UnixMilli(1), Messages: []driver.OutboxMessage{{ID: "i-0", Destination: "d", Attributes: map[string]string{"x": "y"}}}}
	for path, damage := range map[string]func(item, message map[string]any){
		"aggregate":               func(i, _ map[string]any) { i["aggregate"] = "" },
		"id":                      func(i, _ map[string]any) { delete(i, "id") },
		"created":                 func(i, _ map[string]any) { i["created"] = int64(-1) },
		"messages":                func(i, _ map[string]any) { i["messages"] = "secret" },
		"messages[0]":             func(i, _ map[string]any) { i["messages"] = []any{"secret"} },
		"messages[0].id":          func(_, m map[string]any) { m["id"] = int64(7) },
		"messages[0].destination": func(_, m map[string]any) { m["destination"] = "" },
		"messages[0].type":        func(_, m map[string]any) { delete(m, "type") },
		"messages[0].body":        func(_, m map[string]any) { m["body"] = "secret" },
		"messages[0].attributes":  func(_, m map[string]any) { m["attributes"] = map[string]any{"secret": int64(7)} },
	} {
		encoded := item.Encode()
		damage(encoded, encoded["messages"].([]any)[0].(map[string]any))
		got, err := Decode(encoded)
		check.Lacks(t, err.Error(), "secret")
		check.Deep(t, got, Item{})
		if err != Wrong(path) {
			t.Errorf("%s: %+v, %v", path, got, err)
		}
	}
}
