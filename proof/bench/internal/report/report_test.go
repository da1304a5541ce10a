package report

import (
	"math"
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
	svg := bars{title: "A plot", groups: []string{"one", "two"}, series: []bar{
		{"first", grey, []Spread{{1, 2, 3}, {100, 200, 300}}},
		{"second", blue, []Spread{{5, 5, 5}, {math.NaN(), math.NaN(), math.NaN()}}},
	}}.svg()
	for _, want := range []string{"<title>A plot</title>", ">first<", ">second<", ">200<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s", want)
		}
	}
	light, dark, _ := strings.Cut(svg, "prefers-color-scheme: dark")
	for _, element := range []string{"text", "paper", "grid", "quartiles"} {
		if !strings.Contains(light, element+" { ") || strings.Count(dark, element) < 2 { // the rule and its use
			t.Errorf("no color of %s for each theme", element)
		}
	}
	if strings.Contains(svg, "NaN") {
		t.Error("the plot has NaN")
	}
}
