package report

import (
	"fmt"
	"math"
	"strings"
)

// bars is a chart of grouped bars, each with its quartiles.
type bars struct {
	title  string
	groups []string
	series []bar
}

// bar is a series, with a value for each group.
type bar struct {
	label, color string
	values       []Spread
}

// The page shows a chart as an image, which follows the reader's theme by itself. It
// keeps its own background, so that it is readable if the page does not.
const svgHead = `<svg xmlns="http://www.w3.org/2000/svg" width="906" height="384" viewBox="0 0 680 288">
<title>%[1]s</title>
<style>
text { font: 11px system-ui, sans-serif; text-anchor: middle }
.title { font-size: 14px } .value { font-size: 8.5px } .left { text-anchor: start }
text { fill: #1f2328 } .paper { fill: #ffffff } .grid { stroke: #d1d9e0 } .quartiles { stroke: #1f2328 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .paper { fill: #0d1117 } .grid { stroke: #30363d } .quartiles { stroke: #e6edf3 }
}
</style>
<rect class="paper" width="680" height="288"/>
<text class="title" x="%[2]d" y="22">%[1]s</text>
`

// The edges of the bars' area. The legend is to the right of it.
const left, right, top, bottom = 48, 472, 36, 254

// svg draws the chart.
func (b bars) svg() string {
	highest := 1e-6
	for _, s := range b.series {
		for _, v := range s.values {
			if v.measured() {
				highest = max(highest, v.High)
			}
		}
	}
	y := func(v float64) float64 { return bottom - (bottom-top)*v/(1.1*highest) } // room for the values
	var svg strings.Builder
	draw := func(format string, args ...any) { fmt.Fprintf(&svg, format+"\n", args...) }
	fmt.Fprintf(&svg, svgHead, b.title, (left+right)/2)
	for v := 0.0; v <= 1.1*highest; v += tick(highest) {
		draw(`<path class="grid" d="M%d,%.1fH%d"/>`, left, y(v), right)
		draw(`<text class="left" x="10" y="%.1f">%s</text>`, y(v)+4, short(v))
	}
	group := float64(right-left) / float64(len(b.groups))
	for g, name := range b.groups {
		for n, line := range strings.Split(name, "\n") {
			draw(`<text x="%.1f" y="%d">%s</text>`, left+group*(float64(g)+.5), bottom+15+13*n, line)
		}
	}
	width := .8 * group / float64(len(b.series))
	for i, s := range b.series {
		draw(`<rect x="%d" y="%d" width="12" height="12" fill="%s"/>`, right+16, top+18*i, s.color)
		draw(`<text class="left" x="%d" y="%d">%s</text>`, right+34, top+18*i+10, s.label)
		for g, v := range s.values {
			if !v.measured() {
				continue
			}
			middle := left + group*(float64(g)+.5) + width*(float64(i)-float64(len(b.series)-1)/2)
			draw(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`, middle-.46*width, y(v.Mid), .92*width, bottom-y(v.Mid), s.color)
			draw(`<path class="quartiles" d="M%.1f,%.1fV%.1f"/>`, middle, y(v.Low), y(v.High))
			draw(`<text class="value" x="%.1f" y="%.1f">%s</text>`, middle, y(v.High)-3, shorter(v.Mid))
		}
	}
	return svg.String() + "</svg>\n"
}

// tick returns the distance of the lines of a grid: a round number, at most a fourth of
// the highest value.
func tick(highest float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(highest/4)))
	for _, round := range []float64{5, 2} {
		if round*unit <= highest/4 {
			return round * unit
		}
	}
	return unit
}
