package keypath

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
)

func TestPath(t *testing.T) {
	const order = `{
		"id": "o-1", "n": 1.0, "big": 9007199254740993, "other": 9007199254740992, "zero": 0, "no": false, "yes": true,
		"null": null, "empty": "", "tags": ["b", "a"], "map": {"z": 1, "b": "x", "a": [2]},
		"items": [{"sku": "s1", "qty": 2.0, "p": {"v": 1}}, {"sku": "s2", "qty": 3, "p": {"v": 2}}],
		"quoted": "\"a\"", "list": "[1]", "object": "{\"a\":1}", "body": "{\"id\": \"inner\", \"big\": 9007199254740993, \"n\": 1e0}",
		"base64": "eyJpZCI6ImI2NCJ9", "tenant": "t<1>", "deep": {"a": {"b": ["é"]}},
		"tenth": 0.10000000000000000000001, "unicode": {"😀": 1, "\ue000": 2}
	}`
	for expr, want := range map[string]string{
		"id": "o-1", "@.id": "o-1", "$.id": "o-1", `"id"`: "o-1", "null || id": "o-1", "not_null(null, id)": "o-1",
		"n": "1", "big": "9007199254740993", "zero": "0", "no": "false", "yes": "true",
		"[id, n]": `["o-1",1]`, "[id, null]": `["o-1",null]`, "{b: id, a: n}": `{"a":1,"b":"o-1"}`, "[no]": "[false]", "[zero]": "[0]",
		// No string is the ID of another type but a number or a boolean.
		"quoted": `"\"a\""`, "list": `"[1]"`, "object": `"{\"a\":1}"`,
		"'1'": "1", "'true'": "true",
		// Numbers are exact wherever they pass.
		"big == other": "false", "big == big": "true", "n == items[0].qty": "false", "items[0].qty == `null`": "false",
		"items[?qty == `null`] | length(@)": "0", "items[?sku != 's1'].qty": "[3]", "items[?p == {v: p.v}].sku": `["s1","s2"]`,
		"to_string(big)": "9007199254740993", "to_string(map)": `"{\"a\":[2],\"b\":\"x\",\"z\":1}"`, "to_string(tenant)": "t<1>",
		"to_string([tenant])": `"[\"t<1>\"]"`,
		"type(big)":           "number", "type(@)": "object", "type(tags)": "array", "type(null)": "null", "type(no)": "boolean", "type(id)": "string",
		"contains(items[].qty, n)": "false", "contains([n, big], big)": "true", "contains([big], other)": "false",
		"contains([map], map)": "true", "contains(id, '-')": "true", "contains(id, n)": "false",
		"join('-', [id, to_string(n)])": "o-1-1", "to_array(n)": "[1]", "reverse([n, big])": "[9007199254740993,1]",
		"length(tags)": "2", "length(tags) == length(items)": "true", "length('é')": "1", "length(map)": "3",
		"not_null(n)": "1", "merge(map, {z: big}).z": "9007199254740993", "map(&qty, items)": "[2,3]",
		"zip(tags, [n, big])": `[["b",1],["a",9007199254740993]]`, "from_items(zip(tags, [n, big]))": `{"a":9007199254740993,"b":1}`,
		"group_by(items, &sku).s1[0].qty": "2", "items[].p.v": "[1,2]", "items[0:1].qty": "[2]", "items[::-1].qty": "[3,2]",
		// Go maps have no order; IDs do.
		"map.*": `[[2],"x",1]`, "values(map)": `[[2],"x",1]`, "keys(map)": `["a","b","z"]`, "items(map)": `[["a",[2]],["b","x"],["z",1]]`,
		"{b: id, a: n}.*": `[1,"o-1"]`, "keys(unicode)": "[\"\ue000\",\"😀\"]",
		"items[*].p.*": "[[1],[2]]", "id.* || n": "1", "map.* | [0]": "[2]",
		"sort(tags)": `["a","b"]`, "deep.a.b[0]": "é", "pad_left(id, `5`, '0')": "00o-1", "split(id, '-', `1`)": `["o","1"]`,
		"replace(id, 'o', 'p', `1`)": "p-1", "upper(id)": "O-1", "pad_right(id, `5`, '0')": "o-100", "reverse(id)": "1-o",
		// pad_left counts bytes, of which é has two.
		"pad_left(deep.a.b[0], `3`)": " é",
		// Nothing is found, and the list has it as null or empty.
		"[id, not_null(null, tags[9])]": `["o-1",null]`, "[id, tags[-9]]": `["o-1",null]`, "[id, group_by(`[]`, &sku)]": `["o-1",null]`, "[id, split('', '-')]": `["o-1",[]]`,
		"to_array(tags)": `["b","a"]`, "[tags, tags] | []": `["b","a","b","a"]`, "tags | [*]": `["b","a"]`, "contains([tags, map], tags)": "true", "contains(tags, map)": "false",
		"zero && id": "o-1", "id == n": "false", "{a: n} == {a: n}": "true", "[n] == [big]": "false",
		// A slice of a string is a string.
		"id[:1]": "o", "id[:1] | upper(@)": "O", "upper(id[:1])": "O", "(id[:1]).upper(@)": "O", "tags[:1].upper(@)": `["B"]`, "tags[*].[@[:1]]": `[["b"],["a"]]`,
		// Functions compute with exact decimals.
		"tenth": "0.10000000000000000000001", "sum([tenth, big])": "9007199254740993.10000000000000000000001", "avg([big, other])": "9007199254740992.5",
		"max([other, big])": "9007199254740993", "min([other, big])": "9007199254740992", "max_by(items, &qty).sku": "s2", "min_by(items, &p.v).sku": "s1",
		"sort_by([big, n, other], &@)": "[1,9007199254740992,9007199254740993]", "abs(n)": "1", "ceil(tenth)": "1", "floor(tenth)": "0",
		"to_number('1.50')": "1.5", "find_first(id, '-')": "1", "find_last(id, 'o', `-1`, `3`)": "0",
		"powertools_json(body).id": "inner", "powertools_json(body).big": "9007199254740993", "powertools_json(body).n == n": "true",
		"powertools_json(body).[id, n]": `["inner",1]`, "powertools_json(powertools_base64(base64)).id": "b64",
	} {
		key, err := Path[json.RawMessage](expr)(json.RawMessage(order))
		if err != nil || key.ID != want {
			t.Errorf("%s: got %s, %v; want %s", expr, key.ID, err, want)
		}
		if key.Scope != "" || key.Payload != nil || key.Record != "" || key.Fingerprint != "" {
			t.Errorf("%s: more than an ID: %v", expr, key)
		}
	}
}

func TestPathOfTypes(t *testing.T) {
	type request struct {
		ID    int64 `json:"id"`
		Inner any   `json:"inner"`
	}
	for name, got := range map[string]func() (idempotent.Key, error){
		"struct":  func() (idempotent.Key, error) { return Path[request]("id")(request{ID: 9007199254740993}) },
		"pointer": func() (idempotent.Key, error) { return Path[*request]("id")(&request{ID: 9007199254740993}) },
		"any":     func() (idempotent.Key, error) { return Path[any]("id")(request{ID: 9007199254740993}) },
		"bytes":   func() (idempotent.Key, error) { return Path[[]byte]("id")([]byte(`{"id":9007199254740993}`)) },
		"string":  func() (idempotent.Key, error) { return Path[string]("@")("9007199254740993") },
		"embedded": func() (idempotent.Key, error) {
			return Path[request]("inner.id")(request{Inner: json.RawMessage(`{"id":9007199254740993.0}`)})
		},
	} {
		if key, err := got(); err != nil || key.ID != "9007199254740993" {
			t.Errorf("%s: got %s, %v", name, key.ID, err)
		}
	}
}

func TestPathMissingKey(t *testing.T) {
	const order = `{"null":null,"empty":"","list":[],"object":{},"nulls":[null,"",[null,{"a":""}]],"s":"x","n":1,"m":[{}]}`
	for _, expr := range []string{
		"absent", "null", "empty", "list", "object", "nulls", "[absent, null]", "{a: absent, b: {c: empty}}", "s.x", "n[0]", "m[].id",
		"list[?id].x", "object.*", "powertools_json(absent).id", "[s, powertools_json(null).id]", "powertools_base64(absent)",
		"[s, powertools_json(absent)[]]", "[s, powertools_json(absent).*]", "powertools_base64_gzip(null)", "s[1:]",
	} {
		key, err := Path[json.RawMessage](expr)(json.RawMessage(order))
		var missing *idempotent.MissingKeyError
		if !errors.As(err, &missing) || missing.Part != "id" || key != (idempotent.Key{}) {
			t.Errorf("%s: got %v, %v", expr, key, err)
		}
	}
}

func TestPathPanics(t *testing.T) {
	for expr, why := range map[string]string{
		"":            `Path(""): syntax error at byte 0, where the expression ends`,
		"a.":          `Path("a."): syntax error at byte 2, where the expression ends`,
		"a[":          `Path("a["): syntax error at byte 2, where the expression ends`,
		"a[b]":        `Path("a[b]"): syntax error at byte 2, at "b]"`,
		"aé é":        `syntax error at byte 1, at "é é"`,
		"a['b":        "syntax error at byte 4, where the expression ends: unclosed '",
		"a\xff":       "UTF-8",
		"a\u0080":     "syntax error at byte 1",
		"nope(a)":     "unknown function nope",
		"length()":    "does not take 0",
		"length(a,b)": "does not take 2",
		"a > b":       "not supported", "a < `1`": "not supported", "a[?b >= c]": "not supported", "a <= b": "not supported",
		"a + b": "syntax error", "a - b": "syntax error", "a * b": "syntax error", "a / b": "syntax error", "-a": "syntax error", "a % b": "syntax error",
		"a == `1`": "number literal", "`[{\"a\":1}]`": "number literal", "contains(a, `1`)": "number literal", "[a, `1`]": "number literal",
		"abs(`1`)": "number literal", "find_first(a, b, `1.5`)": "literal integer", "find_last(a, b, c, `'d'`)": "syntax error", "find_first(a)": "does not take 1",
		"map(&f(b), a)": "unknown function", "a[?f(b)]": "unknown function", "{a: f(b)}": "unknown function", "!f(a)": "unknown function", "a.*.f(@)": "unknown function",
		"* | f(@)": "unknown function", "a[].f(@)": "unknown function", "a || f(b)": "unknown function", "length(f(a))": "unknown function",
		"pad_left(a, b)": "literal integer", "pad_left(a, `-1`)": "literal integer", "pad_left(a, `1.5`)": "literal integer",
		"pad_left(a, `1e9`)": "literal integer", "split(a, b, c)": "literal integer",
		"a[::0]": "step", "a[::9223372036854775807]": "step",
		"&a": "reference", "to_string(&a)": "reference", "map(a, b)": "reference",
		"let $x = a in $x": "syntax error", "$x": "syntax error", "a = b": "syntax error", "let $x in @": "syntax error",
	} {
		func() {
			defer func() {
				text, ok := recover().(string)
				if !ok || !strings.Contains(text, why) || !strings.HasPrefix(text, "keypath: Path(") {
					t.Errorf("%s: got %q, want %q", expr, text, why)
				}
			}()
			Path[any](expr)
		}()
	}
}

func TestPathErrors(t *testing.T) {
	const secret = "4111"
	request := `{"s":"` + secret + `","n":` + secret + `,"text":"` + secret + `x","b":"/` + secret + `=","invalid":"{\"` + secret +
		`\":1,\"` + secret + `\":2}","latin":"/w=="}`
	for _, expr := range []string{
		"length(n)", "join(',', [n])", "upper(n)", "sort([n])", "keys(s)", "merge(@, s)",
		"sum([s])", "max([n, s])", "ceil(s)", "sort_by([@], &@)", "to_number('1e1000000000000000001')", "find_first(s, 'a', s)",
		"map(&upper(n), [@])", "group_by([@], &n)", "from_items([[s]])", "from_items([[n, s]])", "pad_left(s, `9`, s)",
		"powertools_json(text)", "powertools_json(invalid)", "powertools_json(n)", "powertools_base64(text)",
		"powertools_base64(latin)", "powertools_base64_gzip(latin)", "powertools_base64_gzip(b)",
		// To the left of these, other implementations turn errors into null.
		"[s, powertools_json(text)[]]", "[s, powertools_json(text)[?a]]", "[s, powertools_json(text).*]", "[s, upper(n)[]]",
		// Their first engine leaves out what follows the slice.
		"s[:3].lower(@)", "s[:3].a", "s[:3][0]", "s[:3][1:]", "s[:3].[@]", "s[:3].{a: @}", "s[:3].*", "s[:3][*]", "s[:3][?a]", "[n, s[:3].lower(@)]",
		"[s][*][:3].lower(@)", "[@][?s[:1].lower(@) == 'a'].n", "[s[9:].lower(@), n]",
	} {
		key, err := Path[json.RawMessage](expr)(json.RawMessage(request))
		if err == nil || key != (idempotent.Key{}) || !errors.Is(err, idempotent.ErrInvalidPayload) || errors.Is(err, idempotent.ErrMissingKey) {
			t.Errorf("%s: got %v, %v", expr, key, err)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v quotes the request", expr, err)
		}
	}
	for _, request := range []any{
		json.RawMessage(`{"id":1,"id":1}`), json.RawMessage(`{"id":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`), json.RawMessage(nil), []byte(nil), []byte(`{`), "a\xff", make(chan int),
	} {
		if key, err := Path[any]("id")(request); !errors.Is(err, idempotent.ErrInvalidPayload) {
			t.Errorf("%v: got %v, %v", request, key, err)
		}
	}
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	check.Must(t, err)
	_, err = w.Write([]byte(text))
	check.Must(t, err)
	check.Must(t, w.Close())
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func TestPathGzip(t *testing.T) {
	key := Path[map[string]string]("powertools_json(powertools_base64_gzip(data)).logGroup")
	got, err := key(map[string]string{"data": gzipped(t, `{"logGroup":"g"}`)})
	if err != nil || got.ID != "g" {
		t.Errorf("got %v, %v", got, err)
	}
	text := Path[map[string]string]("length(powertools_base64_gzip(data))")
	got, err = text(map[string]string{"data": gzipped(t, strings.Repeat("a", 10<<20))})
	if err != nil || got.ID != "10485760" {
		t.Errorf("10 MiB: got %v, %v", got, err)
	}
	got, err = text(map[string]string{"data": gzipped(t, strings.Repeat("a", 10<<20+1))})
	check.Is(t, err, idempotent.ErrInvalidPayload, "over 10 MiB", got)
	whole, decodeErr := base64.StdEncoding.DecodeString(gzipped(t, "text"))
	check.Must(t, decodeErr)
	got, err = text(map[string]string{"data": base64.StdEncoding.EncodeToString(whole[:len(whole)-5])})
	check.Is(t, err, idempotent.ErrInvalidPayload, "truncated", got)
	got, err = text(map[string]string{"data": base64.StdEncoding.EncodeToString(append(whole, whole...))})
	check.Nil(t, err, "two members")
	check.Equal(t, got.ID, "8", "two members")
	got, err = text(map[string]string{"data": base64.StdEncoding.EncodeToString(append(whole, 0, 0, 0))})
	check.Is(t, err, idempotent.ErrInvalidPayload, "zeros behind a member", got)
}

func TestPathIsSafeForConcurrentUse(t *testing.T) {
	key := Path[json.RawMessage]("[*.a, sort(`[\"b\",\"a\"]`), powertools_json(s)]")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				got, err := key(json.RawMessage(`{"y":{"a":1},"x":{"a":2},"s":"{\"k\":1.0}"}`))
				if err != nil || got.ID != `[[2,1],["a","b"],{"k":1}]` {
					t.Errorf("got %v, %v", got, err)
					return
				}
			}
		})
	}
	group.Wait()
}

// largeEvent returns an event of about 100 KB, with its key behind many lines.
func largeEvent() json.RawMessage {
	var lines []string
	for i := range 1400 {
		lines = append(lines, fmt.Sprintf(`{"sku":"sku-%d","qty":%d,"price":%d.50,"tags":["a","b"],"gift":false}`, i, i%7, i))
	}
	return json.RawMessage(`{"detail":{"lines":[` + strings.Join(lines, ",") + `],"order_id":"o-1"},"id":"e-1","version":0}`)
}

func TestAKeyOfNamesBuildsNothingElseOfALargeEvent(t *testing.T) {
	event := largeEvent()
	key := Path[json.RawMessage]("[id, detail.order_id]")
	allocations := testing.AllocsPerRun(20, func() {
		if _, err := key(event); err != nil {
			t.Fatal(err)
		}
	})
	check.True(t, allocations < 100, allocations)
}
