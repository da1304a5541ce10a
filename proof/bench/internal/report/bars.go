package report

import (
	"bytes"
	"fmt"
	"image/color"
	"os"
	"regexp"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// bars is a chart of grouped bars, each with its quartiles.
type bars struct {
	title  string
	groups []string
	series []bar
}

// bar is a series, with a value for each group.
type bar struct {
	label  string
	color  color.Color
	values []Spread
}

// Colors of an SVG. In a dark theme, the style of the file replaces the first two.
var (
	paper = color.RGBA{0xff, 0xff, 0xff, 0xff}
	ink   = color.RGBA{0x1f, 0x23, 0x28, 0xff}
	faint = color.RGBA{0xd1, 0xd9, 0xe0, 0xff}
)

const (
	width, height = 9 * vg.Inch, 4 * vg.Inch
	legendWidth   = 2.4 * vg.Inch
	barsWidth     = width - legendWidth - .8*vg.Inch
)

// write draws the chart into a file.
func (b bars) write(path string) error {
	p := plot.New()
	p.Title.Text = b.title
	p.Title.Padding = vg.Points(10)
	p.BackgroundColor = paper
	legend := plot.NewLegend()
	legend.Top, legend.Left = true, true
	legend.ThumbnailWidth, legend.Padding, legend.XOffs = vg.Points(12), vg.Points(5), vg.Points(14)
	p.NominalX(b.groups...)
	p.Y.Min = 0
	p.Y.Tick.Marker = ticks{}
	p.X.Tick.LineStyle.Width, p.Y.Tick.LineStyle.Width = 0, 0
	p.X.Tick.Length = vg.Points(5)
	p.X.LineStyle.Width, p.Y.LineStyle.Width = vg.Points(.5), 0
	for _, style := range []*text.Style{&p.Title.TextStyle, &legend.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label} {
		style.Color = ink
		style.Font.Typeface, style.Font.Variant, style.Font.Size = "Liberation", "Sans", vg.Points(11)
	}
	p.Title.TextStyle.Font.Size = vg.Points(14)
	p.X.Color, p.X.Padding = ink, 0
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color = faint
	p.Add(grid)
	one := barsWidth / vg.Length(len(b.groups)) * .8 / vg.Length(len(b.series))
	highest := 0.0
	for i, s := range b.series {
		offset := one * (vg.Length(i) - vg.Length(len(b.series)-1)/2)
		if err := s.add(p, &legend, one*.92, offset); err != nil {
			return err
		}
		for _, v := range s.values {
			if v.measured() {
				highest = max(highest, v.High)
			}
		}
	}
	p.Y.Max = highest * 1.1 // room for the values
	p.X.Min, p.X.Max = -.5, float64(len(b.groups))-.5
	canvas := vgsvg.NewWith(vgsvg.UseWH(width, height))
	whole := draw.New(canvas)
	whole.SetColor(paper)
	whole.Fill(whole.Path())
	inner := draw.Crop(whole, vg.Points(12), -vg.Points(12), vg.Points(10), -vg.Points(10))
	p.Draw(draw.Crop(inner, 0, -legendWidth, 0, 0))
	legend.Draw(draw.Crop(inner, width-legendWidth-vg.Points(24), 0, 0, -vg.Points(40)))
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(themed(svg.String(), b.title)), 0o644)
}

// add draws a series, with a value on each bar.
func (s bar) add(p *plot.Plot, legend *plot.Legend, width, offset vg.Length) error {
	var values plotter.Values
	var labels plotter.XYLabels
	for i, v := range s.values {
		if !v.measured() {
			v = Spread{}
		} else {
			labels.XYs = append(labels.XYs, plotter.XY{X: float64(i), Y: v.High})
			labels.Labels = append(labels.Labels, shorter(v.Mid))
		}
		values = append(values, v.Mid)
	}
	chart, err := plotter.NewBarChart(values, width)
	if err != nil {
		return err
	}
	chart.Color, chart.Offset, chart.LineStyle.Width = s.color, offset, 0
	p.Add(chart)
	legend.Add(s.label, chart)
	p.Add(whiskers{s.values, offset})
	if len(labels.XYs) == 0 {
		return nil
	}
	above, err := plotter.NewLabels(labels)
	if err != nil {
		return err
	}
	above.Offset = vg.Point{X: offset, Y: vg.Points(2)}
	for i := range above.TextStyle {
		style := &above.TextStyle[i]
		style.Color, style.XAlign = ink, text.XCenter
		style.Font.Typeface, style.Font.Variant, style.Font.Size = "Liberation", "Sans", vg.Points(8.5)
	}
	p.Add(above)
	return nil
}

// whiskers are lines from the lower to the upper quartile of bars.
type whiskers struct {
	values []Spread
	offset vg.Length
}

// Plot implements plot.Plotter.
func (w whiskers) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, v := range w.values {
		if v.measured() {
			at := x(float64(i)) + w.offset
			c.StrokeLine2(draw.LineStyle{Color: ink, Width: vg.Points(1)}, at, y(v.Low), at, y(v.High))
		}
	}
}

// ticks are plot's own, with thousands apart.
type ticks struct{}

// Ticks implements plot.Ticker.
func (ticks) Ticks(low, high float64) []plot.Tick {
	all := plot.DefaultTicks{}.Ticks(low, high)
	for i := range all {
		if all[i].Label != "" {
			all[i].Label = short(all[i].Value)
		}
	}
	return all
}

var (
	styled      = regexp.MustCompile(`style="([^"]*)"`)
	declaration = regexp.MustCompile(`([\w-]+):([^;]*);?`)
)

// themed lets an SVG follow the reader's theme, also where it is an image of a
// page. It keeps its own background, so that it is readable if the page does not.
// Colors become attributes, because rules have precedence over those.
func themed(svg, title string) string {
	svg = styled.ReplaceAllStringFunc(svg, func(style string) string {
		return strings.TrimSpace(declaration.ReplaceAllString(styled.FindStringSubmatch(style)[1], `$1="$2" `))
	})
	var dark strings.Builder
	for _, c := range []struct {
		from color.RGBA
		to   string
	}{{paper, "#0d1117"}, {ink, "#e6edf3"}, {faint, "#30363d"}} {
		for _, property := range []string{"fill", "stroke"} {
			fmt.Fprintf(&dark, "[%s=\"#%02X%02X%02X\"] { %[1]s: %[5]s }\n", property, c.from.R, c.from.G, c.from.B, c.to)
		}
	}
	head, body, _ := strings.Cut(svg, "<g ")
	return head + "<title>" + title + "</title>\n<style>\ntext { font-family: system-ui, sans-serif }\n" +
		"@media (prefers-color-scheme: dark) {\n" + dark.String() + "}\n</style>\n<g " + body
}
