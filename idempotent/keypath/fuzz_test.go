package keypath

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
)

// An expression is refused with a reason, or evaluates without a panic and to
// the same ID for equal requests.
func FuzzPath(f *testing.F) {
	for _, expr := range []string{
		"id", "[id, map.*]", "items[?sku == 'a'].{q: qty, p: p}[0]", "powertools_json(body).a || join('-', keys(map))", "contains(items, map)",
		"items[::-1] | [0:2]", "group_by(items, &sku).*[]", "pad_left(id, `5`, '0')", "replace(id, 'a', 'b', `1`)", "let $x = id in $x", "`{\"a\":[1]}`",
		"to_string(@)", "zip(items, values(@))", "from_items(items(map))", "merge(map, {a: id})", "split(id, '', `1`)", "trim(id, 'a')", "!(a && b) != `true`",
	} {
		f.Add(expr, `{"id":"a","n":1.0,"map":{"b":1,"a":{}},"items":[{"sku":"a","qty":2,"p":{"v":1}}],"body":"{\"a\":[1]}"}`)
	}
	f.Fuzz(func(t *testing.T, expr, request string) {
		key, ok := tryPath(t, expr)
		if !ok {
			return
		}
		first, err := key(json.RawMessage(request))
		if (err == nil) == (first.ID == "") {
			t.Fatalf("%q, %v", first.ID, err)
		}
		for range 3 {
			again, errAgain := key(json.RawMessage(" " + request))
			if again != first || (errAgain == nil) != (err == nil) {
				t.Fatalf("%q, %v and then %q, %v", first.ID, err, again.ID, errAgain)
			}
		}
	})
}

func tryPath(t *testing.T, expr string) (key func(json.RawMessage) (idempotent.Key, error), ok bool) {
	defer func() {
		if r := recover(); r != nil {
			if text, isText := r.(string); !isText || !strings.HasPrefix(text, "keypath: Path(") {
				t.Fatalf("%q: %v", expr, r)
			}
		}
	}()
	return Path[json.RawMessage](expr), true
}
