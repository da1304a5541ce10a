// Package report writes the results of a run: a page, plots, and the targets.
package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Spread is a median between its quartiles.
type Spread struct{ Low, Mid, High float64 }

// spreadOf returns NaN of no values.
func spreadOf(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	at := func(q float64) float64 {
		if len(sorted) == 0 {
			return math.NaN()
		}
		x := q * float64(len(sorted)-1)
		i := int(x)
		if i+1 == len(sorted) {
			return sorted[i]
		}
		return sorted[i] + (x-float64(i))*(sorted[i+1]-sorted[i])
	}
	return Spread{at(.25), at(.5), at(.75)}
}

// measured reports whether there is anything to say.
func (s Spread) measured() bool { return !math.IsNaN(s.Mid) }

// String is the median, and the quartiles if they differ from it.
func (s Spread) String() string {
	low, mid, high := short(s.Low), short(s.Mid), short(s.High)
	switch {
	case !s.measured():
		return "–"
	case low == high:
		return mid
	}
	return fmt.Sprintf("%s (%s–%s)", mid, low, high)
}

// mid returns the median alone.
func mid(values []float64) string { return short(spreadOf(values).Mid) }

// short is a number with three digits, or more before the point.
func short(x float64) string { return rounded(x, 3) }

// shorter has two digits, for the bars of a plot.
func shorter(x float64) string { return rounded(x, 2) }

func rounded(x float64, significant int) string {
	digits := significant - 1 - int(math.Floor(math.Log10(math.Abs(x))))
	if x == 0 || digits <= 0 {
		return thousands(strconv.FormatFloat(x, 'f', 0, 64))
	}
	text := strconv.FormatFloat(x, 'f', min(digits, 4), 64)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

func thousands(digits string) string {
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
