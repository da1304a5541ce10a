package report

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   Spread
		text   string
	}{
		{[]float64{7}, Spread{7, 7, 7}, "7"},
		{[]float64{4, 1, 3, 2, 5}, Spread{2, 3, 4}, "3 (2–4)"},
		{[]float64{1, 2}, Spread{1.25, 1.5, 1.75}, "1.5 (1.25–1.75)"},
		{[]float64{0, 0}, Spread{}, "0"},
		{[]float64{12345.6}, Spread{12345.6, 12345.6, 12345.6}, "12,346"},
		{[]float64{.004567}, Spread{.004567, .004567, .004567}, "0.0046"},
	} {
		if got := spreadOf(c.values); got != c.want || got.String() != c.text {
			t.Errorf("%v: %+v, %s; want %+v, %s", c.values, got, got, c.want, c.text)
		}
	}
	if none := spreadOf(nil); none.measured() || none.String() != "–" {
		t.Errorf("no values: %v", none)
	}
}

func TestTargetIsMetByItsMedian(t *testing.T) {
	got := Spread{1, 2, 3}
	for _, c := range []struct {
		least bool
		want  float64
		met   bool
	}{{true, 2, true}, {true, 2.1, false}, {false, 2, true}, {false, 1.9, false}} {
		if met := (Target{Least: c.least, Want: c.want, Got: got}).Met(); met != c.met {
			t.Errorf("%+v: %v", c, met)
		}
	}
	if (Target{Got: spreadOf(nil)}).Met() {
		t.Error("a target without figures is met")
	}
}

func TestPlotsFollowTheTheme(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plot.svg")
	b := bars{title: "A plot", groups: []string{"one", "two"}, series: []bar{
		{"first", grey, []Spread{{1, 2, 3}, {100, 200, 300}}},
		{"second", blue, []Spread{{5, 5, 5}, {math.NaN(), math.NaN(), math.NaN()}}},
	}}
	if err := b.write(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	svg := string(text)
	for _, want := range []string{"<title>A plot</title>", ">first<", ">second<", ">200<", "prefers-color-scheme: dark"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, color := range []string{`fill="#FFFFFF"`, `fill="#1F2328"`, `stroke="#1F2328"`, `stroke="#D1D9E0"`} {
		if strings.Count(svg, color) < 2 { // the rule, and what it replaces
			t.Errorf("nothing has %s: the rule for a dark theme is in vain", color)
		}
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "#000000") || strings.Contains(svg, " style=") || strings.Contains(svg, "\tstyle=") {
		t.Error("the plot has NaN, or a color that no rule replaces")
	}
}
