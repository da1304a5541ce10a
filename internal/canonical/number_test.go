package canonical

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

func TestCanonicalNumbers(t *testing.T) {
	for raw, want := range map[string]string{
		"0": "0", "-0": "0", "0.0": "0", "-0e5": "0", "0e999999999999999999999": "0", "0.000e-99": "0",
		"1": "1", "1.0": "1", "10e-1": "1", "0.1e1": "1", "1E+0": "1", "100e-0002": "1",
		"-1": "-1", "-1.50": "-1.5", "120": "120", "1.2e2": "120", "12e-1": "1.2",
		"9007199254740993": "9007199254740993", "9007199254740992.0": "9007199254740992",
		// RFC 8785, appendix B, where the decimal is what the double holds.
		"5e-324": "5e-324", "1.7976931348623157e308": "1.7976931348623157e+308",
		"9007199254740992": "9007199254740992", "-9007199254740992": "-9007199254740992",
		"295147905179352830000": "295147905179352830000", "9.999999999999997e22": "9.999999999999997e+22",
		"1e23": "1e+23", "1.0000000000000001e23": "1.0000000000000001e+23",
		"999999999999999700000": "999999999999999700000", "999999999999999900000": "999999999999999900000",
		"1000000000000000000000": "1e+21", "9.999999999999997e-7": "9.999999999999997e-7", "0.000001": "0.000001",
		"333333333.3333332": "333333333.3333332", "-0.0000033333333333333333": "-0.0000033333333333333333",
		"1424953923781206.2": "1424953923781206.2",
		// The borders of the layouts.
		"123456789012345678901":          "123456789012345678901",
		"1234567890123456789012":         "1.234567890123456789012e+21",
		"123456789012345678901.50":       "123456789012345678901.5",
		"0.0000001":                      "1e-7",
		"0.00000123":                     "0.00000123",
		"0.000000123":                    "1.23e-7",
		"1e20":                           "100000000000000000000",
		"1e21":                           "1e+21",
		"1e999999999":                    "1e+999999999",
		"12e999999998":                   "1.2e+999999999",
		"1e1000000000000000000":          "1e+1000000000000000000",
		"0.1e1000000000000000001":        "1e+1000000000000000000",
		"-1e-1000000000000000000":        "-1e-1000000000000000000",
		"10e-1000000000000000001":        "1e-1000000000000000000",
		"1e0000000000000000000000000001": "10",
	} {
		check.Equal(t, canonical(t, raw), want, raw)
	}
}

func TestNumberTextIsBounded(t *testing.T) {
	long := canonical(t, strings.Repeat("9", 1<<20)+"."+strings.Repeat("9", 1<<20)+"e1")
	check.True(t, len(long) <= 2<<20+20, len(long))
}

// Where the shortest decimal of a float64 is all there is, the text is that of
// ECMAScript, which encoding/json writes too.
func TestNumbersAsECMAScript(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		f := math.Float64frombits(r.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		want, err := json.Marshal(f)
		check.Must(t, err)
		for _, format := range []byte("eEg") {
			raw := strconv.FormatFloat(f, format, -1, 64)
			check.Equal(t, canonical(t, raw), string(want))
		}
	}
}
