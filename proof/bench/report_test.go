package main

import (
	"strings"
	"testing"

	"github.com/lambda-once/once/proof/bench/internal/work"
)

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   spread
		text   string
	}{
		{[]float64{7}, spread{7, 7, 7}, "7"},
		{[]float64{4, 1, 3, 2, 5}, spread{2, 3, 4}, "3 (2–4)"},
		{[]float64{1, 2}, spread{1.25, 1.5, 1.75}, "1.5 (1.25–1.75)"},
		{[]float64{0, 0}, spread{}, "0"},
		{[]float64{12345.6}, spread{12345.6, 12345.6, 12345.6}, "12,346"},
		{[]float64{.004567}, spread{.004567, .004567, .004567}, "0.0046"},
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
	got := spread{1, 2, 3}
	for _, c := range []struct {
		bound string
		want  float64
		met   bool
	}{{atLeast, 2, true}, {atLeast, 2.1, false}, {atMost, 2, true}, {atMost, 1.9, false}} {
		if met := (target{bound: c.bound, want: c.want, got: got}).met(); met != c.met {
			t.Errorf("%+v: %v", c, met)
		}
	}
	if (target{got: spreadOf(nil)}).met() {
		t.Error("a target without figures is met")
	}
}

func TestPlotsFollowTheTheme(t *testing.T) {
	r := &results{figures: map[work.Case][]work.Figures{
		{Series: "hand", Callers: 1}: {{Requests: 1, Calls: 1}, {Requests: 3, Calls: 1}},
		{Series: "hand", Callers: 2}: {{Requests: 400, Calls: 2}},
		{Series: "once", Callers: 1}: {{Requests: 5, Calls: 1}},
	}}
	by := []series{{"hand", "first", grey}, {"once", "second", blue}}
	groups := []group{{"one", work.Case{Callers: 1}}, {"two", work.Case{Callers: 2}}}
	svg := chart{"A plot", by, groups, requests}.svg(r)
	for _, want := range []string{"<title>A plot</title>", ">first<", ">second<", ">200<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s", want)
		}
	}
	light, dark, _ := strings.Cut(svg, "prefers-color-scheme: dark")
	for _, element := range []string{"text", "paper", "quartiles"} {
		if !strings.Contains(light, element+" { ") || strings.Count(dark, element) < 2 { // the rule and its use
			t.Errorf("no color of %s for each theme", element)
		}
	}
	if strings.Contains(svg, "NaN") {
		t.Error("the plot has NaN")
	}
}
