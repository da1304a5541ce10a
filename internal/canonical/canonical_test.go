package canonical

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
)

func canonical(t *testing.T, raw string) string {
	t.Helper()
	text, err := Append(nil, []byte(raw))
	check.Must(t, err)
	return string(text)
}

func TestCanonical(t *testing.T) {
	for name, test := range map[string]struct{ raw, want string }{
		// RFC 8785, 3.2.2. Its 333333333.33333329 is what float64 makes of ...3333.
		"example of section 3.2": {
			`{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
			"string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}`,
			`{"literals":[null,true,false],"numbers":[333333333.33333329,1e+30,4.5,0.002,1e-27],` +
				`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		"key order of section 3.2.3": {
			`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh",` +
				`"1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			`{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis",` +
				`"€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`,
		},
		"escapes":             {`"\u0000\u0008\u0009\u000A\u000b\u000C\u000d\u001f\u0020\u007f\u2028\b\t\n\f\r\/"`, `"\u0000\b\t\n\u000b\f\r\u001f ` + "\x7f\u2028" + `\b\t\n\f\r/"`},
		"replacement char":    {`"\ufffd"`, "\"\ufffd\""},
		"white space":         {" [\n1 ,\t{ } ,\r[ ] ] ", `[1,{},[]]`},
		"scalar":              {`"a"`, `"a"`},
		"escaped keys":        {`{"\\":1,"\u0021":2,"\"":3,"\u0001":4,"\n":5}`, `{"\u0001":4,"\n":5,"!":2,"\"":3,"\\":1}`},
		"prefix of a key":     {`{"ab":1,"a":2,"":3}`, `{"":3,"a":2,"ab":1}`},
		"nested and repeated": {`{"b":[{"d":1,"c":{"f":2,"e":3}},{"h":4,"g":5}],"a":{"z":6,"y":7}}`, `{"a":{"y":7,"z":6},"b":[{"c":{"e":3,"f":2},"d":1},{"g":5,"h":4}]}`},
		"unsorted in sorted":  {`{"a":{"c":1,"b":2},"b":{"a":1,"b":2}}`, `{"a":{"b":2,"c":1},"b":{"a":1,"b":2}}`},
		"keys by UTF-16":      {`{"\uffff":1,"\ue000":2,"\ud800\udc00":3,"\ud7ff":4,"\udbff\udfff":5}`, `{"` + "\ud7ff" + `":4,"` + "\U00010000" + `":3,"` + "\U0010ffff" + `":5,"` + "\ue000" + `":2,"` + "\uffff" + `":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			check.Equal(t, canonical(t, test.raw), test.want)
			got, err := Append([]byte("before"), []byte(test.raw))
			check.Nil(t, err)
			check.Equal(t, string(got), "before"+test.want)
		})
	}
}

func TestCanonicalRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		raw    string
		offset int
	}{
		"nothing":                       {"", 0},
		"space":                         {"  ", 2},
		"byte order mark":               {"\ufeff1", 0},
		"word":                          {"nul", 0},
		"second value":                  {"1 2", 2},
		"NUL after the value":           {"1\x00", 1},
		"comma at the end of a list":    {"[1,]", 3},
		"no comma":                      {"[1 2]", 3},
		"open list":                     {"[1", 2},
		"comma at the end of an object": {`{"a":1,}`, 7},
		"key without quotes":            {`{a:1}`, 1},
		"no colon":                      {`{"a" 1}`, 5},
		"open object":                   {`{"a":1`, 6},
		"open string":                   {`"a`, 2},
		"open escape":                   {`"\`, 2},
		"unknown escape":                {`"\x41"`, 1},
		"short escape":                  {`"\u12"`, 1},
		"control character":             {"\"a\nb\"", 2},
		"duplicate key":                 {`{"a":1,"a":1}`, 7},
		"duplicate key, other escape":   {`{"a":1,"\u0061":1}`, 7},
		"duplicate key, out of order":   {`{"b":1,"a":1,"b":2}`, 13},
		"duplicate key, deep":           {`[{"a":{"b":1,"b":1}}]`, 13},
		"invalid UTF-8":                 {"\"a\xff\"", 2},
		"surrogate in UTF-8":            {"\"\xed\xa0\x80\"", 1},
		"overlong UTF-8":                {"\"\xc0\x80\"", 1},
		"lone high surrogate":           {`"\ud800"`, 1},
		"lone low surrogate":            {`"a\udc00"`, 2},
		"high surrogate and letter":     {`"\ud800\u0041"`, 1},
		"two high surrogates":           {`"\ud800\ud800"`, 1},
		"leading zero":                  {"[01]", 2},
		"plus":                          {"+1", 0},
		"minus alone":                   {"-", 1},
		"no whole part":                 {".5", 0},
		"no fraction":                   {"[1.]", 3},
		"no exponent":                   {"[1e]", 3},
		"sign alone in the exponent":    {"[1e+]", 4},
		"NaN":                           {"NaN", 0},
		"exponent too large":            {"[1e1000000000000000001]", 1},
		"exponent too small":            {"[1e-1000000000000000001]", 1},
		"exponent of many digits":       {"1e" + strings.Repeat("9", 1000), 0},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := Append(nil, []byte(test.raw))
			var invalid *Error
			if !errors.As(err, &invalid) || len(text) > 0 {
				t.Fatalf("got %q, %v", text, err)
			}
			check.Equal(t, invalid.Offset, test.offset, "want byte")
		})
	}
}

func TestCanonicalNesting(t *testing.T) {
	for _, pair := range []string{"[]", `{}`} {
		raw := strings.Repeat("[", maxNesting-1) + pair + strings.Repeat("]", maxNesting-1)
		check.Equal(t, canonical(t, raw), raw)
		raw = "[" + raw + "]"
		_, err := Append(nil, []byte(raw))
		check.Failed(t, err)
		check.False(t, json.Valid([]byte(raw)))
	}
	wide := "[" + strings.Repeat("[],", maxNesting) + "[]]"
	check.Equal(t, canonical(t, wide), wide)
}

// Sorting each object in place as it ends would copy the large value once per
// level: 80 GB here. The yardstick is the same text in order, of which one try
// counts that no other program disturbs.
func TestCanonicalCostOfNestedUnsortedObjects(t *testing.T) {
	const depth, most, tries = maxNesting - 1, 5, 20
	large := `"` + strings.Repeat("x", 8<<20) + `"`
	raw := strings.Repeat(`{"b":1,"a":`, depth) + large + strings.Repeat("}", depth)
	want := strings.Repeat(`{"a":`, depth) + large + strings.Repeat(`,"b":1}`, depth)
	timed := func(raw string) time.Duration {
		start := time.Now()
		check.Equal(t, canonical(t, raw), want, "wrong order")
		return time.Since(start)
	}
	for try := 1; ; try++ {
		unsorted, sorted := timed(raw), timed(want)
		if unsorted < most*sorted {
			return
		}
		if try == tries {
			t.Fatalf("took %v, and %v in order", unsorted, sorted)
		}
	}
}

func TestCanonicalManyKeys(t *testing.T) {
	var members []string
	want := map[string]int{}
	for i := range 5000 {
		members = append(members, `"k`+strconv.Itoa(i)+`":`+strconv.Itoa(i))
		want["k"+strconv.Itoa(i)] = i
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	sorted, err := json.Marshal(want) // sorts ASCII keys as RFC 8785 does
	check.Must(t, err)
	check.Equal(t, canonical(t, "{"+strings.Join(members, ",")+"}"), string(sorted), "wrong order")
}

func TestErrorDoesNotQuoteThePayload(t *testing.T) {
	const secret = "4111"
	for _, payload := range []any{
		json.RawMessage(`{"` + secret + `":1,"` + secret + `":2}`),
		json.RawMessage(`["` + secret + `\x"]`),
		json.RawMessage(secret + secret),
		json.Number(secret + "x"),
		map[string]any{secret: json.RawMessage(secret + "x")},
		map[string]any{secret: make(chan int)},
		json.RawMessage(secret + " " + secret),
	} {
		_, err := AppendValue(nil, payload)
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%v quotes the payload", err)
		}
	}
}

func TestCanonicalAllocations(t *testing.T) {
	dst := make([]byte, 0, 1024)
	raw := []byte(`{"id":"p1","customer":"c1","amount":12.50,"currency":"EUR","lines":["a\u0062",{"z":1,"a":2}]}`)
	got := testing.AllocsPerRun(200, func() {
		_, err := Append(dst, raw)
		check.Must(t, err)
	})
	if got > 2 { // 0, but for a pool that the collector or the race detector empties
		t.Errorf("%v allocations", got)
	}
}
