package main

import (
	"fmt"
	"strings"
)

// The page shows a chart as an image, which follows the reader's theme by itself. It
// keeps its own background, so that it is readable if the page does not.
const svgHead = `<svg xmlns="http://www.w3.org/2000/svg" width="906" height="384" viewBox="0 0 680 288">
<title>%[1]s</title>
<style>
text { font: 11px system-ui, sans-serif; text-anchor: middle }
.title { font-size: 14px } .value { font-size: 8.5px } .value, .left { text-anchor: start }
text { fill: #1f2328 } .paper { fill: #ffffff } .quartiles { stroke: #1f2328 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .paper { fill: #0d1117 } .quartiles { stroke: #e6edf3 }
}
</style>
<rect class="paper" width="680" height="288"/>
<text class="title" x="%[2]d" y="22">%[1]s</text>
`

// The edges of the bars' area. The legend is to the right of it.
const left, right, top, bottom = 10, 472, 36, 254

// valueSpace is for the value above the highest bar.
const valueSpace = 34

// svg draws the chart.
func (c chart) svg(r *results) string {
	by := r.measured(c.by)
	value := func(s series, g group) spread {
		g.of.Series = s.name
		return r.spread(g.of, c.measure)
	}
	highest := 1e-6
	for _, s := range by {
		for _, g := range c.groups {
			if v := value(s, g); v.measured() {
				highest = max(highest, v.high)
			}
		}
	}
	y := func(v float64) float64 { return bottom - (bottom-top-valueSpace)*v/highest }
	var svg strings.Builder
	draw := func(format string, args ...any) { fmt.Fprintf(&svg, format+"\n", args...) }
	fmt.Fprintf(&svg, svgHead, c.title, (left+right)/2)
	width := float64(right-left) / float64(len(c.groups))
	for g, group := range c.groups {
		for n, line := range strings.Split(group.label, "\n") {
			draw(`<text x="%.1f" y="%d">%s</text>`, left+width*(float64(g)+.5), bottom+15+13*n, line)
		}
	}
	each := .8 * width / float64(len(by))
	for i, s := range by {
		draw(`<rect x="%d" y="%d" width="12" height="12" fill="%s"/>`, right+16, top+18*i, s.color)
		draw(`<text class="left" x="%d" y="%d">%s</text>`, right+34, top+18*i+10, s.label)
		for g, group := range c.groups {
			v := value(s, group)
			if !v.measured() {
				continue
			}
			middle := left + width*(float64(g)+.5) + each*(float64(i)-float64(len(by)-1)/2)
			draw(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`,
				middle-.46*each, y(v.mid), .92*each, bottom-y(v.mid), s.color)
			draw(`<path class="quartiles" d="M%.1f,%.1fV%.1f"/>`, middle, y(v.low), y(v.high))
			// Upright, a value is as wide as its font is high, which is less than a bar.
			draw(`<text class="value" transform="translate(%.1f,%.1f)rotate(-90)">%s</text>`, middle+3, y(v.high)-3, rounded(v.mid, 2))
		}
	}
	return svg.String() + "</svg>\n"
}
