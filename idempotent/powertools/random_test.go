package powertools_test

import (
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/lambda-once/once/idempotent/powertools"
	"github.com/lambda-once/once/internal/check"
)

var hashes = map[string]func() hash.Hash{"md5": md5.New, "sha256": sha256.New, "sha512": sha512.New}

// Ten thousand values: every plane, every shape of number, deep nesting,
// numeric-looking keys, keys that differ by case, lone surrogates.
func TestRandomValuesHaveTheKeysOfTheirPeers(t *testing.T) {
	both(t, func(t *testing.T, d powertools.Dialect, ask func([]request) []answer) {
		r := random{rand.New(rand.NewPCG(20, 26))}
		var requests []request
		for i := range 10_000 {
			e := request{Event: r.value(4), Prefix: "charge", Hash: "md5", Strict: i%2 == 0}
			switch {
			case i%100 == 0:
				e.Event = r.deep()
			case i%3 == 0:
				e.Path, e.Event = "a.value", `{"a":{"value":`+e.Event+`},"b":1}`
			case i%3 == 1:
				e.Validation, e.Hash = "[a, @]", []string{"md5", "sha256", "sha512"}[i/3%3]
				e.Event = `{"a":` + e.Event + `,"other":` + r.value(1) + `}`
			}
			requests = append(requests, e)
		}
		want := ask(requests)
		agree(t, d, requests, want)
		missing := 0
		for i, w := range want {
			if w.Error != "" {
				t.Fatalf("%.200s: %s", requests[i].Event, w.Error)
			}
			if w.Missing {
				missing++
			}
		}
		check.True(t, missing <= 1500, missing, "of the values are missing keys")
	})
}

// random writes JSON text. It builds no values to marshal, because a marshaller
// writes only some of the texts of a value.
type random struct{ *rand.Rand }

func (r random) value(depth int) string {
	switch n := r.IntN(12); {
	case n < 2 || depth == 0 && n < 8:
		return r.number()
	case n < 4 || depth == 0:
		return r.text()
	case n == 4:
		return []string{"null", "true", "false", `""`, "[]", "{}", "0", "-0", "[null]", `{"a":null}`, "[0,false]"}[r.IntN(11)]
	case n < 8:
		var list []string
		for range r.IntN(5) {
			list = append(list, r.value(depth-1))
		}
		return "[" + r.space() + strings.Join(list, r.space()+","+r.space()) + r.space() + "]"
	default:
		var list []string
		for range r.IntN(9) {
			list = append(list, r.key()+r.space()+":"+r.space()+r.value(depth-1))
		}
		return "{" + r.space() + strings.Join(list, ","+r.space()) + r.space() + "}"
	}
}

// deep nests less than Python's thousand.
func (r random) deep() string {
	before, after := "", ""
	for range 50 + r.IntN(250) {
		if r.IntN(2) == 0 {
			before, after = before+"[", "]"+after
		} else {
			before, after = before+"{"+r.key()+":", "}"+after
		}
	}
	return before + r.value(1) + after
}

func (r random) space() string {
	return []string{"", "", "", "", " ", "\n", "\t", " \r\n "}[r.IntN(8)]
}

func (r random) number() string {
	sign := []string{"", "-"}[r.IntN(2)]
	switch r.IntN(10) {
	case 0:
		return sign + strconv.Itoa(r.IntN(1000))
	case 1:
		return sign + strconv.FormatUint(r.Uint64(), 10)
	case 2: // around 2^53, and beyond any machine's integers
		return sign + strconv.FormatUint(1<<53-4+r.Uint64N(9), 10)
	case 3:
		return sign + "1" + r.digits(60)
	case 4:
		return sign + strconv.Itoa(r.IntN(3)) + "." + r.digits(20)
	case 5:
		return sign + strconv.Itoa(r.IntN(100)) + []string{"e", "E"}[r.IntN(2)] + []string{"", "+", "-"}[r.IntN(3)] + strconv.Itoa(r.IntN(30))
	case 6: // any double, subnormal ones too
		f := math.Float64frombits(r.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return "1e400"
		}
		return strconv.FormatFloat(f, "eg"[r.IntN(2)], -1, 64)
	case 7: // where the spelling of an exponent begins
		return sign + strconv.Itoa(1+r.IntN(9)) + "." + r.digits(3) + "e" + []string{"-8", "-7", "-6", "-5", "-4", "-3", "14", "15", "16", "17", "20", "21", "22"}[r.IntN(13)]
	case 8:
		return sign + []string{"0", "0.0", "0e5", "1.0", "1e5", "100000000000000000000000.0", "1e400", "5e-324", "2e-324", "1.7976931348623159e308",
			"0.1", "1e16", "9999999999999998.0", "0.0001", "0.00001", "1e21", "1e-6", "1e-7", "123456789012345680000"}[r.IntN(19)]
	default:
		return sign + strconv.FormatFloat(math.Abs(r.NormFloat64())*math.Pow(10, float64(r.IntN(40)-20)), 'f', r.IntN(20), 64)
	}
}

func (r random) digits(most int) string {
	var b strings.Builder
	for range 1 + r.IntN(most) {
		b.WriteByte("0123456789"[r.IntN(10)])
	}
	return b.String()
}

func (r random) key() string {
	switch r.IntN(6) {
	case 0: // what looks like a number, and what is an index of an array
		return `"` + []string{"0", "1", "2", "9", "10", "100", "007", "-1", "1.5", "1e3", "4294967294", "4294967295", "4294967296",
			"9007199254740991", "9007199254740993", "00", "٣", "NaN"}[r.IntN(18)] + `"`
	case 1: // which differ by case, or in JavaScript
		return `"` + []string{"a", "A", "b", "B", "aB", "Ab", "é", "É", "ß", "ẞ", "i", "I", "İ", "ı", "Σ", "ΑΣ", "ας", "ασ", "ΑΣΑ", "Σ.Α", "'Σ", "α'Σ'",
			"Ǆ", "ǅ", "ǆ", "𐐀", "𐐨", "Ω", "Ω", "K", "__proto__", "__PROTO__", "constructor", "toString", "length", "_", "[", "Z"}[r.IntN(38)] + `"`
	case 2, 3:
		return `"` + string(rune('a'+r.IntN(26))) + string(rune('A'+r.IntN(26))) + `"`
	default:
		return r.text()
	}
}

// text writes a string with every kind of character, escaped or not.
func (r random) text() string {
	var b strings.Builder
	b.WriteByte('"')
	var written []uint16
	for range r.IntN(8) {
		c := r.rune()
		units := []uint16{uint16(c)}
		if c > 0xffff {
			high, low := utf16.EncodeRune(c)
			units = []uint16{uint16(high), uint16(low)}
		}
		if powertools.Varies(string(utf16.Decode(append(written, units...)))) {
			continue // refused in TypeScript
		}
		written = append(written, units...)
		switch {
		case utf16.IsSurrogate(c) || c < ' ' || r.IntN(4) == 0:
			for _, u := range units {
				fmt.Fprintf(&b, []string{`\u%04x`, `\u%04X`}[r.IntN(2)], u)
			}
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		default:
			b.WriteRune(c)
		}
		if r.IntN(8) == 0 {
			b.WriteString([]string{`\"`, `\\`, `\/`, `\b`, `\f`, `\n`, `\r`, `\t`}[r.IntN(8)])
		}
	}
	return b.String() + `"`
}

func (r random) rune() rune {
	switch r.IntN(8) {
	case 0:
		return rune(r.IntN(0x80))
	case 1:
		return rune(0x80 + r.IntN(0x780))
	case 2:
		return rune(0xd800 + r.IntN(0x800))
	case 3: // cased letters
		return rune([]int{0x370, 0x400, 0x530, 0x10a0, 0x1e00, 0x1f00, 0x2c00, 0xa640, 0x10400, 0x118a0, 0x1e900}[r.IntN(11)] + r.IntN(0x60))
	case 4:
		return []rune{0x7f, 0x2028, 0x2029, 0xfeff, 0xfffd, 0xfffe, 0xffff, 0x10ffff, '<', '>', '&', '/', '\'', 0x85, 0xa0}[r.IntN(15)]
	default:
		return rune(r.IntN(17)<<16 + r.IntN(0x10000))
	}
}
