package powertools_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/lambda-once/once/idempotent/powertools"
)

// Each row is an event and the expressions to apply to it.
var selections = []struct {
	event string
	paths []string
}{
	{`{"body": "{\"order\": {\"id\": \"o-1\", \"lines\": [1.0, 10000000000000000000001]}, \"empty\": \"\"}", "user": {"sub": "ada"}, "n": null}`, []string{
		"powertools_json(body).order.id", "powertools_json(body).order", "powertools_json(body).[order.id, empty]", "powertools_json(body)",
		"[user.sub, powertools_json(body).order.lines[1]]", "powertools_json(user)", "powertools_json(n)", "powertools_json(absent)",
		"[powertools_json(user.sub), user]", "{a: powertools_json(user.sub), b: user}", "powertools_json(user.sub)", "powertools_json(user.sub) || body",
		"powertools_json('[1, 2')", "powertools_json('')", "powertools_json('1')", "powertools_json('NaN')", "[powertools_json('[-Infinity, Infinity]')]",
		"powertools_json('\"\\\\ud800\"')", "powertools_json(powertools_json('\"[1.50]\"'))",
	}},
	{`{"a": ` + quote(base64.StdEncoding.EncodeToString([]byte(`{"id": "é😀", "n": 1.0}`))) + `, "zip": ` + quote(zipped(`{"id": "é😀"}`)) + `,
		"two": ` + quote(zipped("one ", "two")) + `, "zeros": ` + quote(zipped("one\x00\x00", "\x00")) + `, "bad": "AAAA", "garbage": ` + quote(base64.StdEncoding.EncodeToString(append(member(), 'x'))) + `, "gap": ` + quote(base64.StdEncoding.EncodeToString(append(member(), member()...))) + `, "pad": "QQ==", "bits": "QR==",
		"bom": ` + quote(base64.StdEncoding.EncodeToString([]byte("\ufeff[1]"))) + `, "null": null, "empty": ""}`, []string{
		"powertools_base64(a)", "powertools_json(powertools_base64(a)).id", "powertools_json(powertools_base64(a))", "powertools_base64(pad)",
		"powertools_base64(bits)", "powertools_base64(bom)", "[powertools_base64(empty)]", "powertools_base64('A')", "[powertools_base64('A')]",
		"powertools_base64('QQ=')", "powertools_base64(null)", "[powertools_base64_gzip(bad), pad]",
		"powertools_base64_gzip(zip)", "powertools_json(powertools_base64_gzip(zip)).id", "powertools_base64_gzip(two)", "powertools_base64_gzip(zeros)",
		"powertools_base64_gzip(garbage)", "powertools_base64_gzip(gap)", "[powertools_base64_gzip(gap)]", "powertools_base64_gzip(bad)", "powertools_base64_gzip(pad)", "powertools_base64_gzip(null)",
	}},
	{`{"one": 1, "float": 1.0, "true": true, "zero": 0, "big": 9007199254740993, "even": 9007199254740992.0, "equal": 9007199254740992, "huge": 1e400, "half": 0.5,
		"long": [99999999999999991611392, 100000000000000000000000, 1e23], "minus": -0.0, "list": [1, true, 1.0, [1], {"a": 1}],
		"text": "1", "same": [true, 1, 1.0, [true], {"a": true}]}`, []string{
		"[one == float, one == true, `1` == `true`, zero == `false`, \"true\" == `1`, one == text]", "[big == even, equal == even, huge == huge, huge == big, half == zero, zero == minus, long[0] == long[2], long[1] == long[2], long[0] == long[1]]",
		"[list == same, list[3] == same[3], list[4] == same[4], list[0] == same[0], list != same, list[:3] == same[:3], {a: one} == {a: \"true\"}, {a: zero} == {a: text}]",
		"[{a: one} == {b: one}]", "{a: [one == text][0], b: one}", "one == text || text", "list[?@ == `1`]", "list[?@ != `1`]", "list[?@ == `1.0`]",
		"[!zero, !one, !text, !absent, zero && one, absent || zero]", "[`1`, `1.0`, `1e2`, `-0`, `123456789012345678901234567890`]",
	}},
	{`{"": 1, "a b": 2, "ü": 3, "\ud800": 4, "10": "ten", "9": "nine", "B": 1, "a": 2, "__proto__": {"x": 1}, "high": "\ud83d", "low": "\ude00", "list": [{"id": 1}, {"id": null}, {}, 5, null, [1, [2]]]}`, []string{
		`""`, `"a b"`, `"ü"`, `"\ud800"`, `"\u00fc"`, "*", "to_string(@)", "@",
		"list[*].id", "list[].id", "list[]", "list[][]", "list[?id]", "list[?!id]", "list[-1][1][0]", "list[5:]", "list[0:0]", "list[:100:2]", "list[-100:100]",
		"list[::-2]", "list[0:3].id", "(list[0])[0:1]", "list[0][0:1]", "list | [0]", "list[*] | [0]", "list[].to_string(@)",
		"list[*].[id, @]", "list[*].{i: id}", "absent[*]", "absent.[a, b]", "absent | [a]", "[absent, `null`]", "{a: absent, b: `null`}",
		"join('-', [\"10\", \"9\"])", "join('', [high, low])", "join('', [low, high])", "join('-', list)", "join(a, list)", "join('-', `[]`)", "to_string('x')", "to_string(`1.50`)",
	}},
	{`{"a": "it's"}`, []string{
		"'it\\'s'", "'a\\'b\\'c'", "'\\n'", "'\\\\'", "`\"a\\`b\\`c\"`", "`a`", "` a`", "`  \"a\"  `", "`{\"b\": [1]}`", "`01`", "`é`", "\"a\"", "@.a", "a.@", "a || b", "a|b", " a ", "(a)", "((a))",
		"a.b.c", "a[", "a]", "a.", ".a", "a..b", "[a", "{a}", "{a: a", "{a: a}", "{a: a,}", "{}", "[]", "[a,]", "a b", "a=b", "a==", "!", "!!a", "a(", "a()", "f(a)", "to_string()", "join(a)",
		"[?a", "[?a]", "[?]", "*", "*.a", "a*", "**", "[*", "[*]", "[0", "[0]", "[-]", "[-1]", "[0:1:2:3]", "[::]", "-1", "1", "a-b", "a\u00a0", "$", "a.$", "let $x = a in $x", "a + b", "a\n.\ta", "to_string (a)", "\"a\"(b)", "a.to_string(@)",
	}},
}

func TestSelectionsAreThoseOfTheirPeers(t *testing.T) {
	both(t, func(t *testing.T, d powertools.Dialect, ask func([]request) []answer) {
		var requests []request
		for _, s := range selections {
			for i, path := range s.paths {
				requests = append(requests, request{Path: path, Event: s.event, Prefix: "p", Hash: "sha256", Strict: i%2 == 0})
			}
		}
		agree(t, d, requests, ask(requests))
	})
}

// Whether a key is missing, with and without throwOnNoIdempotencyKey.
func TestMissingKeysAreThoseOfTheirPeers(t *testing.T) {
	both(t, func(t *testing.T, d powertools.Dialect, ask func([]request) []answer) {
		var requests []request
		for _, event := range []string{
			"null", "0", "-0", "0.0", "1", "false", "true", `""`, `" "`, "[]", "{}", "[null]", "[null, null]", "[0]", `["", false, 0, null]`, `[[]]`, "[{}]",
			`{"a": null}`, `{"a": 0, "b": ""}`, `{"a": []}`, `{"a": {"b": null}}`, `{"": ""}`, `{"__proto__": 1}`, `{"__proto__": 0}`, "1e-400",
		} {
			for _, path := range []string{"", "@", "a", "[a, b]", "{a: a}"} {
				for _, strict := range []bool{false, true} {
					requests = append(requests, request{Path: path, Event: event, Prefix: "p", Hash: "md5", Strict: strict})
				}
			}
		}
		agree(t, d, requests, ask(requests))
	})
}

// zipped returns a gzip file with these members, in base64.
func zipped(members ...string) string {
	var b bytes.Buffer
	for _, text := range members {
		w := gzip.NewWriter(&b)
		_, err := w.Write([]byte(text))
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			panic(err)
		}
	}
	return base64.StdEncoding.EncodeToString(append(b.Bytes(), 0, 0))
}

// member returns a gzip file that ends with zeros.
func member() []byte {
	b, err := base64.StdEncoding.DecodeString(zipped("one"))
	if err != nil {
		panic(err)
	}
	return b
}

func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}
