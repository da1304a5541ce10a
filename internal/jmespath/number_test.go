package jmespath

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lambda-once/once/internal/canonical"
	"github.com/lambda-once/once/internal/check"
)

// Numbers agree with those of math/big: their order, their sum, and the integers
// next to them.
func TestNumbersAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 7))
	number := func() string {
		text := []string{"0", "1", "9007199254740993", "12345678901234567890123", "999", "5"}[r.IntN(6)]
		if r.IntN(2) == 0 {
			text += "." + []string{"0", "5", "000000000000000000001", "999999999999999999999999", "25"}[r.IntN(5)]
		}
		if r.IntN(3) == 0 {
			text += fmt.Sprintf("e%d", r.IntN(60)-30)
		}
		return []string{"", "-"}[r.IntN(2)] + text
	}
	rational := func(text string) *big.Rat {
		n, ok := new(big.Rat).SetString(text)
		check.True(t, ok, text)
		return n
	}
	for range 5000 {
		a, b := number(), number()
		event := "[" + a + "," + b + "]"
		x, y := rational(a), rational(b)
		larger, smaller := x, y
		if x.Cmp(y) < 0 {
			larger, smaller = y, x
		}
		check.Equal(t, rational(exactly(t, "max(@)", event)).Cmp(larger), 0, event)
		check.Equal(t, rational(exactly(t, "sort_by(@, &@)[0]", event)).Cmp(smaller), 0, event)
		sum := new(big.Rat).Add(x, y)
		check.Equal(t, rational(exactly(t, "sum(@)", event)).Cmp(sum), 0, event)
		check.Equal(t, rational(exactly(t, "avg(@)", event)).Cmp(sum.Quo(sum, big.NewRat(2, 1))), 0, event)
		check.Equal(t, rational(exactly(t, "abs([0])", event)).Cmp(new(big.Rat).Abs(x)), 0, event)
		floor := new(big.Int).Div(x.Num(), x.Denom()) // Euclidean
		check.Equal(t, rational(exactly(t, "floor([0])", event)).Cmp(new(big.Rat).SetInt(floor)), 0, event)
		if !x.IsInt() {
			floor.Add(floor, big.NewInt(1))
		}
		check.Equal(t, rational(exactly(t, "ceil([0])", event)).Cmp(new(big.Rat).SetInt(floor)), 0, event)
	}
}

// No request chooses how much is computed.
func TestNumbersAreBounded(t *testing.T) {
	for _, test := range []struct{ expr, event, want string }{
		{"max(@)", "[1e999999999999999999, 1]", "1e+999999999999999999"},
		{"min(@)", "[-1e999999999999999999, -1e-999999999999999999]", "-1e+999999999999999999"},
		{"ceil(@)", "1e-999999999999999999", "1"},
		{"floor(@)", "1e999999999999999999", "1e+999999999999999999"},
		{"sum(@)", "[1e999999999999999999, 1]", "error"},
		{"sum(@)", "[1e-999999999999999999, 1]", "error"},
		{"avg(@)", "[1e1000]", "error"},
		{"sum(@)", "[1e-1001]", "error"},
		{"sum(@)", "[1e999, 1e-999]", "1." + strings.Repeat("0", 1997) + "1e+999"},
		{"floor(@)", strings.Repeat("1", 1000) + ".5", "1." + strings.Repeat("1", 999) + "e+999"},
		{"floor(@)", strings.Repeat("1", 1001) + ".5", "error"},
		{"ceil(@)", strings.Repeat("1", 1001) + ".5", "error"},
		{"avg(@)", "[1, 1, 2]", "1.33333333333333333333"},
		{"avg(@)", "[-1, -1, 0]", "-0.66666666666666666667"},
		{"avg(@)", "[0.1, 0.2]", "0.15"},
		{"to_number('1e1000000000000000001')", "0", "error"},
		{"to_number('1_0')", "0", "null"},
	} {
		check.Equal(t, exactly(t, test.expr, test.event), test.want, test.expr, test.event)
	}
}

// A long number is not decoded once for each of many short ones: that would take a
// megabyte each.
func TestLongNumberAmongMany(t *testing.T) {
	long := "0.1" + strings.Repeat("7", 1_000_000)
	event := "[" + long + strings.Repeat(", 2", 2_000) + ", " + long + "]"
	allocated := allocates()
	for _, test := range []struct{ expr, want string }{
		{"contains([1:], [0]) && !contains([1:-1], [0]) && 'same'", `"same"`},
		{"to_string(length([?@ == $[0]]))", `"2"`},
		{"max(@)", "2"},
		{"sort_by(@, &@)[2]", "2"},
	} {
		check.Equal(t, exactly(t, test.expr, event), test.want, test.expr)
	}
	n := allocated()
	check.True(t, n < 1<<30, n)
}

// A sum takes memory for its event, and not for the digits of each number.
func TestSumOfManyExponentsIsBounded(t *testing.T) {
	var numbers []string
	for i := range 100_000 {
		numbers = append(numbers, fmt.Sprintf("1e%d", i%1900-900))
	}
	event := "[" + strings.Join(numbers, ",") + "]"
	allocated := allocates()
	check.True(t, strings.HasPrefix(exactly(t, "sum(@)", event), "5.7777"))
	n := allocated()
	check.True(t, n < 200*uint64(len(event)), n)
}

// allocates returns a function that returns how many bytes were allocated since.
func allocates() func() uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	return func() uint64 {
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
}

// Trimming a text is linear in both arguments: otherwise this takes hours, and the test
// ends by its timeout.
func TestTrimIsLinear(t *testing.T) {
	event := `{"text":"` + strings.Repeat("é", 10_000_000) + `","set":"` + strings.Repeat("a", 20_000_000) + `é"}`
	check.Equal(t, exactly(t, "trim(text, set)", event), `""`)
}

// Decoding canonical JSON and writing it again changes nothing.
func FuzzCanonical(f *testing.F) {
	for _, text := range []string{
		`{"b":1,"a":{"Z":1.50,"y":-0,"":null}}`, `["\ud83d\ude00","\ue000","\ufffd","\u2028\u007f<&>\/","é"]`, `{"\ue000":1,"😀":2}`,
		`[1e400,12345678901234567890123456789.5,0.000001,1e-7]`, `[[],{},"",true,false,null]`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, err := canonical.Append(nil, []byte(text))
		if err != nil || !utf8.ValidString(text) {
			return
		}
		v, err := Decode(Exact, string(want))
		check.Must(t, err, text)
		got, err := Canonical(v)
		check.Must(t, err, text)
		check.Equal(t, string(got), string(want))
	})
}
