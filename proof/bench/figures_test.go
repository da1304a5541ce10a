package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
)

// figuresFile has the figures of the last run that the page shows.
const figuresFile = "testdata/figures.tsv"

// figures are the results of all rounds, or those of an earlier run that the page shows.
// The page names what it shows, and that is what is stored.
type figures struct {
	facts  map[string]string    // about the machine and the servers
	rounds map[string][]float64 // by benchmark and unit
	stored map[string]spread
	shown  map[string]spread
}

// A spread is a median between its quartiles.
type spread struct{ low, mid, high float64 }

// facts are the names of those that the page shows.
var facts = []string{"date", "cpu", "cores", "go", "load", "dynamodb", "postgresql", "redis", "node"}

// processors is what testing adds to a name.
var processors = regexp.MustCompile(`-\d+$`)

// parse reads what benchmarks have printed.
func parse(output io.Reader) (*figures, error) {
	f := &figures{facts: map[string]string{}, rounds: map[string][]float64{}, shown: map[string]spread{}}
	lines := benchfmt.NewReader(output, "")
	for lines.Scan() {
		switch line := lines.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, line
		case *benchfmt.Result:
			for _, fact := range facts {
				f.facts[fact] = line.GetConfig(fact)
			}
			name := processors.ReplaceAllString(string(line.Name), "")
			for _, v := range line.Values {
				f.rounds[key(name, v.Unit)] = append(f.rounds[key(name, v.Unit)], v.Value)
			}
		}
	}
	return f, lines.Err()
}

func key(benchmark, unit string) string { return benchmark + " " + unit }

// figure returns the spread of a benchmark's results in a unit.
func (f *figures) figure(benchmark, unit string) spread {
	k := key(benchmark, unit)
	if s, ok := f.stored[k]; ok {
		return f.show(k, s)
	}
	return f.show(k, spreadOf(f.rounds[k]))
}

// ratio returns the spread of a benchmark's results divided by those of a second one. It
// divides those of each round, which were measured one after the other.
func (f *figures) ratio(over, under, unit string) spread {
	k := key(over+" / "+under, unit)
	if s, ok := f.stored[k]; ok {
		return f.show(k, s)
	}
	var all []float64
	a, b := f.rounds[key(over, unit)], f.rounds[key(under, unit)]
	for i := range min(len(a), len(b)) {
		all = append(all, a[i]/b[i])
	}
	return f.show(k, spreadOf(all))
}

func (f *figures) show(key string, s spread) spread {
	if s.measured() {
		f.shown[key] = s
	}
	return s
}

// write stores what the page has shown.
func (f *figures) write(name string) error {
	var b bytes.Buffer
	for _, fact := range facts {
		fmt.Fprintf(&b, "%s\t%s\n", fact, f.facts[fact])
	}
	for _, k := range slices.Sorted(maps.Keys(f.shown)) {
		s := f.shown[k]
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\n", k, digits(s.low), digits(s.mid), digits(s.high))
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}

// digits is a number as it is stored.
func digits(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// read returns stored figures.
func read(name string) (*figures, error) {
	f := &figures{facts: map[string]string{}, stored: map[string]spread{}, shown: map[string]spread{}}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) == 2 {
			f.facts[cells[0]] = cells[1]
			continue
		}
		var s spread
		if _, err := fmt.Sscan(strings.Join(cells[1:], " "), &s.low, &s.mid, &s.high); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", name, line, err)
		}
		f.stored[cells[0]] = s
	}
	return f, nil
}

// spreadOf returns NaN of no values.
func spreadOf(values []float64) spread {
	if len(values) == 0 {
		values = []float64{math.NaN()}
	}
	sorted := slices.Sorted(slices.Values(values))
	at := func(q float64) float64 {
		i, part := math.Modf(q * float64(len(sorted)-1))
		low, high := sorted[int(i)], sorted[min(int(i)+1, len(sorted)-1)]
		return low + part*(high-low)
	}
	return spread{at(.25), at(.5), at(.75)}
}

// measured reports whether there is anything to say.
func (s spread) measured() bool { return !math.IsNaN(s.mid) }

// inverse returns the spread of 1/x.
func (s spread) inverse() spread { return spread{1 / s.high, 1 / s.mid, 1 / s.low} }

// times returns the spread in a smaller unit.
func (s spread) times(n float64) spread { return spread{n * s.low, n * s.mid, n * s.high} }

// String is the median, and the quartiles if they differ from it.
func (s spread) String() string {
	low, mid, high := short(s.low), short(s.mid), short(s.high)
	switch {
	case !s.measured():
		return "–"
	case low == high:
		return mid
	}
	return fmt.Sprintf("%s (%s–%s)", mid, low, high)
}

// short is a number with three digits, or more before the point.
func short(x float64) string {
	after := 2 - int(math.Floor(math.Log10(math.Abs(x))))
	if x == 0 || after <= 0 {
		return thousands(strconv.FormatFloat(x, 'f', 0, 64))
	}
	text := strconv.FormatFloat(x, 'f', min(after, 4), 64)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

func thousands(digits string) string {
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// busy reports whether the machine was not idle before the run.
func (f *figures) busy() bool {
	load, loadErr := strconv.ParseFloat(f.facts["load"], 64)
	cores, coresErr := strconv.ParseFloat(f.facts["cores"], 64)
	return errors.Join(loadErr, coresErr) == nil && load >= cores/2
}

func TestFiguresAreThoseOfTheRounds(t *testing.T) {
	f, err := parse(strings.NewReader(`cpu: a processor
BenchmarkDuplicate/series=json-2  100  500 ns/op  1000 cpu-ns/op
BenchmarkDuplicate/series=once-2  100  900 ns/op  4000 cpu-ns/op
BenchmarkDuplicate/series=json-2  100  500 ns/op  2000 cpu-ns/op
BenchmarkDuplicate/series=once-2  100  900 ns/op  3000 cpu-ns/op
BenchmarkDuplicate/series=json-2  100  500 ns/op  3000 cpu-ns/op
BenchmarkDuplicate/series=once-2  100  900 ns/op  6000 cpu-ns/op
`))
	must(t, err)
	micros := f.figure("Duplicate/series=once", cpu).times(1e6).String()
	ratio := f.ratio("Duplicate/series=once", "Duplicate/series=json", cpu).String() // 4, 1.5 and 2
	if micros != "4 (3.5–5)" || ratio != "2 (1.75–3)" || f.facts["cpu"] != "a processor" {
		t.Errorf("%s, %s, %v", micros, ratio, f.facts)
	}
	name := t.TempDir() + "/figures.tsv"
	must(t, f.write(name))
	again, err := read(name)
	must(t, err)
	if s := again.ratio("Duplicate/series=once", "Duplicate/series=json", cpu).String(); s != ratio || again.facts["cpu"] != "a processor" {
		t.Errorf("stored as %s, %v", s, again.facts)
	}
	for x, want := range map[float64]string{0: "0", 12345.6: "12,346", .004567: "0.0046", 2.5: "2.5"} {
		if short(x) != want {
			t.Errorf("%v is %s, want %s", x, short(x), want)
		}
	}
}
