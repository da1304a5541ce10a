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
		"id": "o-1", "@.id": "o-1", `"id"`: "o-1", "null || id": "o-1",
		"n": "1", "big": "9007199254740993", "zero": "0", "no": "false", "yes": "true",
		"[id, n]": `["o-1",1]`, "[id, null]": `["o-1",null]`, "{b: id, a: n}": `{"a":1,"b":"o-1"}`, "[no]": "[false]", "[zero]": "[0]",
		// No string is the ID of another type but a number or a boolean.
		"quoted": `"\"a\""`, "list": `"[1]"`, "object": `"{\"a\":1}"`,
		"'1'": "1", "'true'": "true",
		// Numbers are exact wherever they pass.
		"big == other": "false", "big == big": "true", "n == items[0].qty": "false", "items[0].qty == `null`": "false",
		"[id, items[?qty == `null`]]": `["o-1",[]]`, "items[?qty == `2`].sku": `["s1"]`, "big == `9007199254740993.0`": "true", "big == `9007199254740992`": "false", "`[1.50]`": "[1.5]",
		"items[?sku != 's1'].qty": "[3]", "items[?p == {v: p.v}].sku": `["s1","s2"]`,
		"to_string(big)": "9007199254740993", "to_string(map)": `"{\"a\":[2],\"b\":\"x\",\"z\":1}"`, "to_string(tenant)": "t<1>",
		"to_string([tenant])": `"[\"t<1>\"]"`, "join('-', [id, to_string(n)])": "o-1-1", "items[*].qty": "[2,3]", "items[].p.v": "[1,2]", "items[0:1].qty": "[2]", "items[::-1].qty": "[3,2]",
		// Go maps have no order; IDs do.
		"map.*": `[[2],"x",1]`, "{b: id, a: n}.*": `[1,"o-1"]`, "unicode.*": "[2,1]",
		"items[*].p.*": "[[1],[2]]", "id.* || n": "1", "map.* | [0]": "[2]",
		"deep.a.b[0]": "é",
		// Nothing is found, and the list has it as null or empty.
		"[id, null || tags[9]]": `["o-1",null]`, "[id, tags[-9]]": `["o-1",null]`,
		"[tags, tags] | []": `["b","a","b","a"]`, "tags | [*]": `["b","a"]`, "[tags, map] == [tags, map]": "true", "tags == map": "false",
		"zero && id": "o-1", "id == n": "false", "{a: n} == {a: n}": "true", "[n] == [big]": "false",
		// A slice of a string is a string.
		"id[:1]": "o", "id[::-1]": "1-o", "id[:1] | [@, n]": `["o",null]`, "to_string(id[:1])": "o", "(id[:1]).to_string(@)": "o", "items[:1].to_string(qty)": `["2"]`, "tags[*].[@[:1]]": `[["b"],["a"]]`,
		"tenth":                    "0.10000000000000000000001",
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
		"nope(a)":     "the function nope is not supported: write a key function in Go",
		"to_string()": "does not take 0",
		"join(a)":     "does not take 1",
		"a > b":       "the operator > is not supported",
		"a + b":       "syntax error", "a - b": "syntax error", "a * b": "syntax error", "a / b": "syntax error", "-a": "syntax error", "a % b": "syntax error",
		"{a: b c: d}": "syntax error", "join(a b)": "syntax error", "`01`": "syntax error", "`1e1000000000000000001`": "syntax error", "\"\\ud800\"": "syntax error",
		"a[::0]": "step", "a = b": "syntax error",
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
		"join(',', [n])", "join(n, [s])", "join(',', s)", "join(',', absent)",
		"powertools_json(text)", "powertools_json(invalid)", "powertools_json(n)", "powertools_base64(text)",
		"powertools_base64(latin)", "powertools_base64_gzip(latin)", "powertools_base64_gzip(b)",
		// To the left of these, other implementations turn errors into null.
		"[s, powertools_json(text)[]]", "[s, powertools_json(text)[?a]]", "[s, powertools_json(text).*]", "[s, join(n, [s])[]]",
		// Their first engine leaves out what follows the slice.
		"s[:3].to_string(@)", "s[:3].a", "s[:3][0]", "s[:3][1:]", "s[:3].[@]", "s[:3].{a: @}", "s[:3].*", "s[:3][*]", "s[:3][?a]", "[n, s[:3].to_string(@)]",
		"[s][*][:3].to_string(@)", "[@][?s[:1].to_string(@) == 'a'].n", "[s[9:].to_string(@), n]",
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
	text := Path[map[string]string]("powertools_base64_gzip(data)[:-2]")
	got, err = text(map[string]string{"data": gzipped(t, strings.Repeat("a", 10<<20))})
	check.Nil(t, err, "10 MiB")
	check.Equal(t, len(got.ID), 10<<20-2, "10 MiB")
	got, err = text(map[string]string{"data": gzipped(t, strings.Repeat("a", 10<<20+1))})
	check.Is(t, err, idempotent.ErrInvalidPayload, "over 10 MiB", got)
	whole, decodeErr := base64.StdEncoding.DecodeString(gzipped(t, "text"))
	check.Must(t, decodeErr)
	got, err = text(map[string]string{"data": base64.StdEncoding.EncodeToString(whole[:len(whole)-5])})
	check.Is(t, err, idempotent.ErrInvalidPayload, "truncated", got)
	got, err = text(map[string]string{"data": base64.StdEncoding.EncodeToString(append(whole, whole...))})
	check.Nil(t, err, "two members")
	check.Equal(t, got.ID, "textte", "two members")
	got, err = text(map[string]string{"data": base64.StdEncoding.EncodeToString(append(whole, 0, 0, 0))})
	check.Nil(t, err, "padding")
	check.Equal(t, got.ID, "te", "padding")
}

func TestPathIsSafeForConcurrentUse(t *testing.T) {
	key := Path[json.RawMessage]("[*.a, `[\"b\",\"a\"]`, powertools_json(s)]")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				got, err := key(json.RawMessage(`{"y":{"a":1},"x":{"a":2},"s":"{\"k\":1.0}"}`))
				if err != nil || got.ID != `[[2,1],["b","a"],{"k":1}]` {
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
