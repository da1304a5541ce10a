package powertools_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent/powertools"
)

// An expression means what it means to the peer, or is refused.
func TestRandomExpressionsSelectWhatTheirPeersSelect(t *testing.T) {
	both(t, func(t *testing.T, d powertools.Dialect, ask func([]request) []answer) {
		r := expressions{random{rand.New(rand.NewPCG(13, 8))}}
		var requests []request
		for i := range 5_000 {
			e := request{Path: r.expression(1 + i%4), Event: r.event(3), Prefix: "p", Hash: "md5", Strict: i%2 == 0}
			if i%5 > 0 { // never a missing key
				e.Path = "{selected: (" + e.Path + "), x: 'x'}"
			}
			requests = append(requests, e)
		}
		refused, records := 0, map[string]bool{}
		for i, want := range ask(requests) {
			got := compute(d, requests[i])
			records[want.Record] = true
			switch {
			case got.Error != "" && want.Error == "":
				refused++ // see the package's documentation
			case got != want && (got.Error == "" || want.Error == ""):
				t.Errorf("%s of %s:\n got %+v\nwant %+v", requests[i].Path, requests[i].Event, got, want)
			}
		}
		if refused > len(requests)/50 || len(records) < len(requests)/20 {
			t.Errorf("%d of %d expressions are refused, and the others select %d values", refused, len(requests), len(records))
		}
	})
}

// expressions writes JMESPath.
type expressions struct{ random }

func (r expressions) name() string {
	return []string{"a", "b", "a", "b", "a", "b", "c", "aB", `"0"`, `"é"`, `""`}[r.IntN(11)]
}

func (r expressions) expression(depth int) string {
	if depth == 0 {
		if r.IntN(3) > 0 {
			return r.name()
		}
		return []string{"@", "`1`", "`1.0`", "`\"x\"`", "'a'", "`[1,{\"b\":2}]`", "`null`", "`true`", "*", "[*]", "[]", "[0]"}[r.IntN(12)]
	}
	e := func() string { return r.expression(depth - 1) }
	switch r.IntN(22) {
	case 0, 1, 2, 3:
		return e() + "." + r.name()
	case 4:
		return e() + []string{"[0]", "[1]", "[-1]", "[9]", "[0][0]", "[0][1:]"}[r.IntN(6)]
	case 5:
		return e() + []string{"[1:]", "[::2]", "[:-1]", "[::-1]", "[2:0:-1]", "[-9:9]", "[1:1]"}[r.IntN(7)]
	case 6:
		return e() + []string{"[*]", "[]", ".*"}[r.IntN(3)]
	case 7:
		return e() + "[*]." + r.name()
	case 8:
		return e() + "[?" + e() + "]"
	case 9:
		return e() + "[?" + e() + "]." + r.name() + "[?" + e() + "]"
	case 10:
		return e() + "[?" + e() + r.operator() + e() + "]"
	case 11:
		return e() + " | " + e()
	case 12:
		return e() + " || " + e()
	case 13:
		return e() + " && " + e()
	case 14:
		return "!" + e()
	case 15:
		return e() + r.operator() + e()
	case 16:
		return "[" + e() + ", " + e() + "]"
	case 17:
		return "{" + r.name() + ": " + e() + ", " + r.name() + ": " + e() + "}"
	case 18:
		return "(" + e() + ")"
	case 19:
		return e() + ".[" + e() + ", " + e() + "]"
	default:
		return r.call(e)
	}
}

func (r expressions) operator() string { return []string{" == ", " != "}[r.IntN(2)] }

func (r expressions) call(e func() string) string {
	return []string{"join(',', " + e() + ")", "to_string(" + e() + ")", "powertools_json(to_string(" + e() + "))"}[r.IntN(3)]
}

// event writes an object or a list whose members the expressions name.
func (r expressions) event(depth int) string {
	if depth == 0 {
		return []string{"1", "2", "1.0", "2.5", `"a"`, `"b"`, `"ab"`, `""`, "null", "true", "false", "0", "[]", "{}", `"é😀"`, "12345678901234567890"}[r.IntN(16)]
	}
	list := []string{}
	if r.IntN(4) == 0 {
		for range r.IntN(4) {
			list = append(list, r.event(depth-1))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	for range 2 + r.IntN(4) {
		list = append(list, `"`+strings.Trim(r.name(), `"`)+`":`+r.event(depth-1))
	}
	return "{" + strings.Join(list, ",") + "}"
}
