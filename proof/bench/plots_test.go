package bench

import (
	"bytes"
	"fmt"
	"image/color"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	plottext "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A chart has a group of bars for each name, and a bar for each label in it.
type chart struct {
	title  string
	groups []string
	bars   []bars
}

type bars struct {
	label  string
	color  color.Color
	values []spread
}

var (
	grey   = color.RGBA{0x8b, 0x94, 0x9e, 0xff}
	blue   = color.RGBA{0x3b, 0x82, 0xf6, 0xff}
	green  = color.RGBA{0x2e, 0xa0, 0x43, 0xff}
	violet = color.RGBA{0xa3, 0x71, 0xf7, 0xff}
	pink   = color.RGBA{0xdb, 0x61, 0xa2, 0xff}
	orange = color.RGBA{0xe8, 0x6a, 0x17, 0xff}
	yellow = color.RGBA{0xb5, 0x89, 0x00, 0xff}
)

// A line of a legend: the series, its label and its color.
type shown struct {
	series, label string
	color         color.Color
}

var (
	shownCalls = []shown{
		{"hand", "SDK by hand", grey}, {"once", "Once", blue}, {"grouped", "Once, Group 1", green}, {"grouped4", "Once, Group 4", violet},
		{"typescript", "TypeScript by hand", pink}, {"powertools", "Powertools for TypeScript", orange},
	}
	shownStores = []shown{
		{"hand", "DynamoDB by hand", grey}, {"once", "Once on DynamoDB", blue}, {"postgres-hand", "PostgreSQL by hand", violet},
		{"postgres", "Once on PostgreSQL", green}, {"redis-hand", "Redis by hand", yellow}, {"redis", "Once on Redis", orange},
		{"memory", "Once in memory", pink},
	}
	shownBatches = []shown{
		{"in-turn", "In turn", grey}, {"ahead", "Ahead", blue}, {"ahead-unrecorded", "Ahead, Unrecorded 10", violet},
		{"ahead-grouped", "The same, Group 1", green}, {"ahead-grouped-one", "The same, GOMAXPROCS=1", orange},
	}
)

// charts returns the plots of the page, by the names of their files.
func (f *figures) charts() map[string]chart {
	perSecond := chart{"First calls a second", []string{"1 caller", "16 callers", "64 callers"}, nil}
	for _, s := range shownCalls {
		var all []spread
		for _, n := range []int{1, 16, 64} {
			all = append(all, f.figure(callName(first, 0, n, s.series), wall).inverse())
		}
		perSecond.bars = append(perSecond.bars, bars{s.label, s.color, all})
	}
	callCPU := func(title string, series []shown, unit float64) chart {
		c := chart{title, []string{"first call", "duplicate", "conflict"}, nil}
		for _, s := range series {
			var all []spread
			for _, kind := range []string{first, duplicate, conflict} {
				all = append(all, f.figure(callName(kind, 0, 16, s.series), cpu).times(unit))
			}
			c.bars = append(c.bars, bars{s.label, s.color, all})
		}
		return c
	}
	batches := func(title, unit string, n float64, of ...time.Duration) chart {
		c := chart{title: title}
		for _, delivery := range []string{"new", "again"} {
			for _, latency := range of {
				c.groups = append(c.groups, map[string]string{"new": "new", "again": "redelivered"}[delivery]+"\n"+fmt.Sprintf("+%d ms", latency.Milliseconds()))
			}
		}
		for _, s := range shownBatches {
			var all []spread
			for _, delivery := range []string{"new", "again"} {
				for _, latency := range of {
					all = append(all, f.figure(batchName("sqs", 10, delivery, latency, s.series), unit).times(n))
				}
			}
			c.bars = append(c.bars, bars{s.label, s.color, all})
		}
		return c
	}
	return map[string]chart{
		"throughput.svg": perSecond,
		"call-cpu.svg":   callCPU("Client CPU of a call, ms", shownCalls, 1e3),
		"stores.svg":     callCPU("Client CPU of a call on each store, µs", shownStores, 1e6),
		"batch-time.svg": batches("Time of a batch of 10 SQS messages, ms", wall, 1e3, latencies...),
		"batch-cpu.svg":  batches("Client CPU of a message in a batch of 10, ms", cpu, 1e3/10, latencies[0], latencies[2]),
	}
}

// svg draws the chart, on a background of its own: a reader's theme may be dark.
func (c chart) svg() ([]byte, error) {
	const width, legend = 480, 165 // points
	p := plot.New()
	p.Title.Text = c.title
	p.Y.Min = 0
	p.HideY() // each bar has its value
	p.NominalX(c.groups...)
	p.X.LineStyle.Width, p.X.Tick.Length = 0, 0
	p.Legend.Top, p.Legend.XOffs, p.Legend.Padding = true, vg.Points(legend), vg.Points(2)
	for _, style := range []*plottext.Style{&p.Title.TextStyle, &p.X.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Variant = "Sans"
		style.Font.Size = font.Points(10)
	}
	each := vg.Points(.8 * width / float64(len(c.groups)*len(c.bars)))
	for i, s := range c.bars {
		offset := each * vg.Length(float64(i)-float64(len(c.bars)-1)/2)
		var values plotter.Values
		var labels plotter.XYLabels
		for g, v := range s.values {
			values = append(values, v.mid)
			labels.XYs, labels.Labels = append(labels.XYs, plotter.XY{X: float64(g), Y: v.mid}), append(labels.Labels, short(v.mid))
			p.Y.Max = max(p.Y.Max, 1.2*v.mid) // with space for the label
		}
		bar, err := plotter.NewBarChart(values, .92*each)
		if err != nil {
			return nil, err
		}
		bar.Color, bar.LineStyle.Width, bar.Offset = s.color, 0, offset
		value, err := plotter.NewLabels(labels)
		if err != nil {
			return nil, err
		}
		value.Offset = vg.Point{X: offset + 3, Y: 3}
		for i := range value.TextStyle {
			value.TextStyle[i].Font.Variant, value.TextStyle[i].Font.Size = "Sans", font.Points(7)
			value.TextStyle[i].Rotation = 1.5708 // upright
		}
		p.Add(bar, value)
		p.Legend.Add(s.label, bar)
	}
	p.BackgroundColor = color.Transparent
	canvas := vgsvg.New(vg.Points(width+legend+20), vg.Points(216))
	paper := draw.New(canvas)
	paper.FillPolygon(color.White, []vg.Point{{}, {X: paper.Max.X}, paper.Max, {Y: paper.Max.Y}})
	p.Draw(draw.Crop(paper, 5, -legend-5, 5, -5))
	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	return bytes.ReplaceAll(b.Bytes(), []byte("Liberation Sans"), []byte("Liberation Sans,sans-serif")), err
}
