package jmespath

import (
	"reflect"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

const selectable = `{"id":"o-1","n":1.50,"i":-7,"t":true,"z":null,"s":"a\u00e9\ud83d\ude00","list":[{"a":1,"b":{"c":[2]}},{"a":"x"},3],
	"detail":{"id":"d","lines":[{"sku":"a","qty":2},{"sku":"b"}],"inner":{"id":5,"more":{"deep":[1,{"x":"y"}]}},"empty":{}},
	"detail2":{"id":"e"},"body":"{\"id\":\"in\",\"list\":[1,2]}","":{"id":9}}`

var selecting = []string{
	"id", "detail.id", "detail.inner.more.deep[1].x", "[id, detail.inner.id]", "{a: id, b: detail.[id, inner.id]}", "detail", "@", "detail.@",
	"detail | id", "detail | [id, inner] | [0]", "(detail | inner).id", "detail.inner | @.id", "detail && id", "!detail.empty", "detail.empty || id",
	"detail.inner == detail.inner", "detail.*", "*", "*.id", "detail.*.id", "detail.lines[*].sku", "detail.lines[].sku", "detail.lines[?qty == detail.id].sku",
	"list[0].b.c[0]", "list[::-1]", "list[*].a | [0]", "[0]", "id.x", "absent.[id]", "absent", "z.[id]", "join('-', [id, detail.id])",
	"[detail, detail2][*].id", "[detail, detail2][?id == 'e'].id", "detail.to_string(inner)", "powertools_json(body).id", "powertools_json(body).list[1]",
	"'literal'", "detail.['literal']", "`[1]`", "n", "[n, i, t, s]", `"".id`, "detail.inner.more", "[detail.inner.id, detail.inner]", "[detail, detail.id]", "n == i", "to_string(detail)", "to_string(@)",
}

// same decodes an event wholly and in part, and wants the same of both.
func same(t *testing.T, d Dialect, expr, event string) {
	t.Helper()
	e, err := Compile(d, expr, true)
	if err != nil {
		return
	}
	whole, err := (*Selection)(nil).Decode(d, event)
	part, errOfPart := Select(e).Decode(d, event)
	if !reflect.DeepEqual(err, errOfPart) {
		t.Fatalf("%v, %s of %s: decoding fails with %v, and in part with %v", d, expr, event, err, errOfPart)
	}
	if err != nil {
		return
	}
	want, err := e.Search(whole)
	got, errOfPart := e.Search(part)
	plain := PlainStyle(d)
	if string(plain.Append(nil, want)) != string(plain.Append(nil, got)) || !reflect.DeepEqual(err, errOfPart) {
		t.Fatalf("%v, %s of %s: %s, %v and in part %s, %v", d, expr, event, plain.Append(nil, want), err, plain.Append(nil, got), errOfPart)
	}
}

func TestSelectedMembersAreEnoughForAnExpression(t *testing.T) {
	for _, expr := range selecting {
		for d := Exact; d <= Python; d++ {
			same(t, d, expr, selectable)
		}
	}
}

func TestUnselectedMembersAreChecked(t *testing.T) {
	for _, event := range []string{
		`{"a":1,"b":[1,]}`, `{"b":{"c" 1}}`, `{"b":"\x"}`, `{"b":01}`, `{"b":1.}`, `{"b":-}`, `{"b":nul}`, `{"b":"` + "\n" + `"}`, `{"b":[}`, `{"b":1}x`, `{"b":NaN}`, `{"b":-Infinity}`,
		`{"b":[-Infinity,Infinity,NaN]}`, `{"b":-Inf}`, `{b:1}`, `{"b":"\ud800"}`, `{"b":`, `{"b":1e}`,
	} {
		for d := Exact; d <= Python; d++ {
			same(t, d, "a", event)
		}
	}
}

func TestDecodingSelectsNoOtherMember(t *testing.T) {
	e, err := Compile(Exact, "[id, detail.inner.id]", true)
	check.Must(t, err)
	v, err := Select(e).Decode(Exact, selectable)
	check.Must(t, err)
	text, err := Canonical(v)
	check.Must(t, err)
	check.Equal(t, string(text), `{"detail":{"inner":{"id":5}},"id":"o-1"}`)
}

// No expression and no event panics, and two evaluations select the same.
func FuzzSelection(f *testing.F) {
	for _, expr := range append(selecting, "list[?a != `1`].{c: [a, b][::-1]} | [0]", "list[*].b.*[]", "id[1:] | [@, n]", "let $x = id in $x", "detail.*.powertools_json(@) || [s, 'it\\'s']") {
		f.Add(expr, selectable)
	}
	f.Fuzz(func(t *testing.T, expr, event string) {
		for d := Exact; d <= Python; d++ {
			same(t, d, expr, event)
		}
	})
}
