package keypaths

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"strings"
)

// A generator writes expressions and the events that they may select from.
type generator struct{ *rand.Rand }

func (g generator) one(of ...string) string { return of[g.IntN(len(of))] }

func (g generator) name() string {
	return g.one("a", "b", "c", "a", "b", "n", "n", "list", "list", "map", "s", "body", "b64", "gzip", "A", "x1", `"0"`, `"é"`, `""`, `"\ue000"`, `"😀"`, `"\ud83d\ude00"`, `"\ud800"`, `"a b"`)
}

func (g generator) expression(depth int) string {
	if depth <= 0 {
		return g.leaf()
	}
	e := func() string { return g.expression(depth - 1 - g.IntN(2)) }
	switch g.IntN(28) {
	case 0, 1, 2, 3:
		return e() + "." + g.name()
	case 4:
		return e() + g.one("[0]", "[1]", "[-1]", "[9]", "[00]", "[-0]", "[0][1]", "[0][1:]")
	case 5:
		return e() + g.one("[1:]", "[::2]", "[:-1]", "[::-1]", "[2:0:-1]", "[-9:9]", "[1:1]", "[:]", "[1:2 3]", "[::-3]", "[-2::-1]", "[::1048576]", "[::1048577]", "[::0]") + g.one("", "", "."+g.name(), "[0]", "[1:]")
	case 6, 7:
		return e() + g.one("[*]", "[]", ".*", "[*].*", "[][]", "[*][*]", ".*.*", "[].*")
	case 8, 9:
		return e() + g.one("[*].", "[].", ".*.", "[1:].") + g.name()
	case 10:
		return e() + "[?" + e() + "]" + g.one("", "."+g.name(), "[]", "[0]", "[*]", "[?"+g.name()+"]", "|[0]")
	case 11, 12:
		return e() + "[?" + e() + g.operator() + e() + "]" + g.one("", "."+g.name(), ".[a, n]", ".{x: @, y: n}")
	case 13:
		return e() + g.one("|", " | ", "||", " || ", "&&", " && ") + e()
	case 14:
		return e() + g.one(" | ", " || ", " && ") + e()
	case 15:
		return "!" + e()
	case 16, 17:
		return e() + g.operator() + e()
	case 18:
		return "[" + e() + g.one(", ", ",", " ,\n\t") + e() + "]"
	case 19:
		return "{" + g.name() + ": " + e() + g.one(", ", ",", " ") + g.name() + ": " + e() + "}"
	case 20:
		return "(" + e() + ")"
	case 21:
		return e() + ".[" + e() + ", " + e() + "]"
	case 22:
		return e() + ".{" + g.name() + ": " + e() + "}"
	default:
		return g.call(e)
	}
}

func (g generator) leaf() string {
	if g.IntN(4) > 0 {
		return g.name()
	}
	return g.one("@", "$", "$.list", "*", "[*]", "[]", "[0]", "[1:]", "'a'", `'it\'s'`, `'\\'`, `'\n\\\''`, "''", "'é'", "`\"x\"`", "`null`", "`true`", "`[]`", "`{}`",
		"`{\"b\":\"é\",\"a\":[null,false]}`", "`\"\\ud800\"`", "`\"a\\`b\"`", "`{\"a\":\"1\",\"a\":\"2\"}`", "` \"s\" `", "`1`", "`1.0`", "`[1]`", "`x`")
}

func (g generator) operator() string {
	return g.one(" == ", " != ", "==", "!=", " == ", " != ", " < ", " >= ")
}

func (g generator) call(e func() string) string {
	comma := g.one(", ", ",", ", ", " ")
	n := g.one("0", "1", "2", "5", "5.0", "1e1", "-1", "1.5", "1048576.0000000000000000001", "2000000")
	switch g.IntN(24) {
	case 0:
		return "contains(" + g.one(e(), "[n, a, `true`, `\"1\"`]", "[[n], {a: `true`}, '1']") + comma + g.one(e(), "n", "`true`", "[`true`]") + ")"
	case 1:
		return "join(" + g.one("'-'", "''", e()) + comma + g.one(e(), "["+e()+","+e()+"]", "map(&to_string(@), "+e()+")") + ")"
	case 2:
		return "merge(" + e() + comma + e() + ")"
	case 3:
		return "not_null(" + e() + comma + e() + ")"
	case 4:
		return "map(&" + e() + comma + e() + ")"
	case 5:
		return g.one("starts_with(", "ends_with(", "contains(") + e() + comma + g.one("'a'", "''", e()) + ")"
	case 6, 7:
		return "powertools_json(" + g.one("body", "body", "to_string("+e()+")", e()) + ")"
	case 8:
		return g.one("powertools_base64(b64)", "powertools_json(powertools_base64(b64))", "powertools_base64_gzip(gzip)", "powertools_base64("+e()+")", "powertools_base64_gzip("+e()+")")
	case 9:
		return "group_by(" + e() + comma + "&" + g.one(e(), "to_string("+e()+")", "type(@)") + ")"
	case 10:
		return "zip(" + e() + comma + e() + g.one("", comma+e()) + ")"
	case 11:
		return g.one("pad_left(", "pad_right(") + g.text(e) + ", `" + n + "`" + g.one("", ", '0'", ", ''", ", 'é'", ", "+e()) + ")"
	case 12:
		return "replace(" + g.text(e) + ", " + g.one("'a'", "''", "'é'", e()) + ", " + g.one("'b'", "''", e()) + g.one("", ", `"+n+"`") + ")"
	case 13:
		return "split(" + g.text(e) + ", " + g.one("'a'", "''", "'-'", e()) + g.one("", ", `"+n+"`") + ")"
	case 14:
		return g.one("trim(", "trim_left(", "trim_right(") + g.text(e) + g.one("", ", ''", ", 'aé '", ", "+e()) + ")"
	case 15:
		return g.one("lower(", "upper(", "length(", "reverse(") + g.text(e) + ")"
	case 16:
		return "from_items(" + g.one(e(), "items("+e()+")", "zip(keys(map), "+e()+")") + ")"
	case 17:
		return "sort(" + g.one("list", e(), "keys("+e()+")", "map(&to_string(@), "+e()+")") + ")"
	case 18:
		return g.one(`("length")(`, `"length"(`, "length (") + e() + ")"
	case 19:
		return g.one(refused...) + "(" + e() + g.one("", ", &"+e(), ", "+e()) + ")"
	default:
		return g.one("keys", "values", "items", "length", "reverse", "sort", "to_array", "to_string", "to_string", "type") + "(" + e() + ")"
	}
}

func (g generator) text(e func() string) string { return g.one("s", "to_string("+e()+")", e()) }

// mutate changes a byte of an expression, so that its grammar is compared as well.
func (g generator) mutate(expr string) string {
	b := []byte(expr)
	if len(b) == 0 {
		return expr
	}
	at := g.IntN(len(b))
	const bytes = "abn0129 .,:*@$&|!=<>()[]{}?'\"`\\-+/%~#;\n\t"
	switch g.IntN(3) {
	case 0:
		return string(append(b[:at], b[at+1:]...))
	case 1:
		b[at] = bytes[g.IntN(len(bytes))]
		return string(b)
	default:
		return expr[:at] + string(bytes[g.IntN(len(bytes))]) + expr[at:]
	}
}

func (g generator) number() string {
	return g.one("0", "1", "2", "1.0", "10e-1", "-0", "-0.0", "0.5", "5e-1", "1e0", "1E+2", "100", "9007199254740992", "9007199254740993", "9007199254740993.0",
		"12345678901234567890123456789", "1.2345678901234567890123456789e28", "1e400", "1e-400", "0.1", "0.10000000000000000000001", "1e-7", "0.0000001", "1e21", "1e20", "-3", "-3.75", "1e999999999", "3.14")
}

func (g generator) string() string {
	return g.one(`"a"`, `"b"`, `"ab"`, `""`, `"o-1"`, `"é"`, `"😀"`, `"\ud83d\ude00"`, `"\ue000"`, `"\ufffd"`, `"a\u0062"`, `" a "`, `"[1]"`, `"\"q\""`, `"{"`, `"1"`, `"true"`, `"<&>"`, `"\u2028\u0000\n\t\/\\"`, `"Straße İ"`, `"ÅéÅ"`)
}

// value writes JSON with the names that the expressions use.
func (g generator) value(depth int) string {
	switch g.IntN(8) {
	case 0, 1, 2:
		return g.number()
	case 3, 4:
		return g.string()
	case 5:
		return g.one("null", "null", "true", "false", "[]", "{}")
	}
	if depth <= 0 {
		return g.number()
	}
	if g.IntN(2) == 0 {
		return g.list(depth - 1)
	}
	return g.object(depth - 1)
}

func (g generator) list(depth int) string {
	var list []string
	same := g.IntN(5)
	for range g.IntN(5) {
		switch same {
		case 0:
			list = append(list, g.string())
		case 1:
			list = append(list, g.object(depth-1))
		case 2:
			list = append(list, g.number())
		default:
			list = append(list, g.value(depth-1))
		}
	}
	return "[" + strings.Join(list, ",") + "]"
}

func (g generator) object(depth int) string {
	var members []string
	used := map[string]bool{}
	for range g.IntN(6) {
		key := g.one(`"a"`, `"b"`, `"c"`, `"n"`, `"n"`, `"A"`, `"0"`, `"é"`, `""`, `"\ue000"`, `"😀"`, `"\ufffd"`, `"x1"`, `"a b"`)
		if !used[key] || g.IntN(300) == 0 { // a duplicate key is refused
			used[key] = true
			members = append(members, key+g.one(":", ": ")+g.value(depth-1))
		}
	}
	return "{" + strings.Join(members, g.one(",", " , ")) + "}"
}

func (g generator) event() string {
	if g.IntN(40) == 0 {
		return g.value(2)
	}
	members := []string{`"n":` + g.number(), `"list":` + g.list(3), `"map":` + g.object(3), `"s":` + g.string()}
	for _, key := range []string{`"a"`, `"b"`, `"c"`, `"é"`, `"0"`, `""`, `"\ue000"`} {
		if g.IntN(3) > 0 {
			members = append(members, key+":"+g.value(3))
		}
	}
	content := g.value(2)
	if g.IntN(10) == 0 {
		content = g.one("{", `"\ud800"`, `{"a":1,"a":1}`, "[1,]", "nul", "1 2", "01", "NaN", " 1 ", "1e1000000000000000001")
	}
	if g.IntN(4) > 0 {
		members = append(members, `"body":`+quote(content), `"b64":`+quote(g.damage(base64.StdEncoding.EncodeToString([]byte(content)))))
	}
	if g.IntN(8) == 0 {
		members = append(members, `"gzip":`+quote(g.damage(zipped(content, g.IntN(3)))))
	}
	g.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return "{" + strings.Join(members, ",") + "}"
}

// damage sometimes changes base64, so that it is read differently or not at all.
func (g generator) damage(text string) string {
	if len(text) < 2 || g.IntN(6) > 0 {
		return text
	}
	at := g.IntN(len(text))
	return text[:at] + g.one("\n", "\r\n", " ", "_", "=", "A") + text[at:]
}

// zipped returns a gzip file of one member, of two, or of one and zeros behind it.
func zipped(content string, form int) string {
	var b bytes.Buffer
	for range 1 + form%2 {
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(content)) // never fails
		_ = w.Close()
	}
	if form == 2 {
		b.Write(make([]byte, 3))
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}
