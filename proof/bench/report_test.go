package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

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

// A label is the box of a text in a plot. Its width is that of wide letters.
type label struct {
	text                     string
	left, top, right, bottom float64
}

var texts = regexp.MustCompile(`<text class="value" (?:x="([\d.]+)" y="([\d.]+)"|transform="translate\(([\d.]+),([\d.]+)\)rotate\(-90\)")>(.*)</text>` +
	`|<text x="([\d.]+)" y="([\d.]+)">(.*)</text>`)

// labels returns those of a plot: values in a font of 8.5, and groups in one of 11.
func labels(t *testing.T, svg string) (all []label) {
	t.Helper()
	at := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	centred := func(x, y float64, text string, size float64) label {
		half := .3 * size * float64(len(text))
		return label{text, x - half, y - .8*size, x + half, y}
	}
	for _, m := range texts.FindAllStringSubmatch(svg, -1) {
		switch {
		case m[1] != "":
			all = append(all, centred(at(m[1]), at(m[2]), m[5], 8.5))
		case m[3] != "":
			x, y := at(m[3]), at(m[4])
			all = append(all, label{m[5], x - .8*8.5, y - .6*8.5*float64(len(m[5])), x, y})
		default:
			all = append(all, centred(at(m[6]), at(m[7]), m[8], 11))
		}
	}
	return all
}

// The figures are equal, so that all values stand in a line, and have five digits.
func TestLabelsOfPlotsDoNotOverlap(t *testing.T) {
	r := &results{plan: long(time.Minute, 100), Node: "24", figures: map[work.Case][]work.Figures{}}
	for name, c := range r.charts() {
		c.measure = func(work.Figures) float64 { return 11_111 }
		for _, g := range c.groups {
			for _, s := range c.by {
				g.of.Series = s.name
				r.figures[g.of] = []work.Figures{{}}
			}
		}
		all := labels(t, c.svg(r))
		if want := len(c.groups) * (1 + len(c.by)); len(all) < want {
			t.Errorf("%s: only %d labels, want %d", name, len(all), want)
		}
		for i, a := range all {
			for _, b := range all[:i] {
				if a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom {
					t.Errorf("%s: %+v overlaps %+v", name, a, b)
				}
			}
			if a.top < top || a.left < 0 || a.right > right {
				t.Errorf("%s: %+v is outside of its area", name, a)
			}
		}
	}
}

func TestANameOfCountsHasOneCount(t *testing.T) {
	counts := map[string]int{}
	for _, s := range long(time.Minute, 100).scenarios() {
		name := fmt.Sprint(s.counted(), s.Latency)
		if counts[name] != 0 && counts[name] != s.calls {
			t.Errorf("%s: %d and %d calls", name, counts[name], s.calls)
		}
		counts[name] = s.calls
	}
}

func TestPowertoolsIsComparedWithTheSDKInItsLanguage(t *testing.T) {
	r := &results{plan: plan{latencies: []time.Duration{0}}, Node: "24", figures: map[work.Case][]work.Figures{}}
	for name, seconds := range map[string]time.Duration{"hand": 1, "once": 2, "grouped": 1, "grouped-4": 1, "typescript": 4, "powertools": 20} {
		c := work.Case{Series: name, Kind: work.First, Callers: 1}
		r.figures[c] = []work.Figures{{Calls: 1, Wall: seconds * time.Second}}
	}
	text := r.Ratios().String()
	if !strings.Contains(text, "| first | +0 ms | 1 | 0.5 |") {
		t.Errorf("Once takes twice the time of the SDK in Go:\n%s", text)
	}
	if !strings.Contains(text, "| 0.2 |\n") {
		t.Errorf("Powertools takes five times the time of the SDK in TypeScript:\n%s", text)
	}
}
