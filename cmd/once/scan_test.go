package main

import (
	"bufio"
	"bytes"
	"flag"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// sorted has the lines of a table behind its header, which come in the order
// of the table's hashes.
func sorted(out string) string {
	lines := strings.SplitAfter(out, "\n")
	slices.Sort(lines[1:])
	return strings.Join(lines, "")
}

func TestListShowsRecordsByTheirFlags(t *testing.T) {
	s := newScene(t)
	s.samples()
	golden(t, "list", sorted(s.ok("list")))
	golden(t, "list-json", sorted("\n"+s.ok("list", "--json")))
	golden(t, "list-stuck", sorted(s.ok("list", "--older-than", "15m")))
	golden(t, "list-prefix", sorted(s.ok("list", "--prefix", "pay#r")))
	golden(t, "list-operation", sorted(s.ok("list", "--operation", "pay", "--status", "completed")))
}

func TestStatsCountsEachOperation(t *testing.T) {
	s := newScene(t)
	s.samples()
	golden(t, "stats", s.ok("stats"))
	golden(t, "stats-json", s.ok("stats", "--json"))
	golden(t, "stats-operation", s.ok("stats", "--operation", "pay", "--status", "INPROGRESS"))
}

// As many operations as there are records do not take the memory of all.
func TestStatsBoundsOperations(t *testing.T) {
	c := counts{}
	for i := range 3 * maxOperations {
		c.add(newRecord(driver.Entry{Record: driver.Record{ID: strings.Repeat("x", i) + "#1", Status: driver.Completed}}), time.Now())
	}
	if all := c.sorted(); len(all) > maxOperations+1 || all[0].Operation != "" && all[0].Operation != otherwise {
		t.Errorf("%d operations", len(all))
	}
	if n := c[otherwise].Completed; n != 2*maxOperations {
		t.Errorf("%d others", n)
	}
}

// watch tells each change as it comes.
func TestWatchWritesChanges(t *testing.T) {
	s := newScene(t)
	// It ends by itself if an expected line does not come.
	cmd := s.command("watch", "--interval", "20ms", "--looks", "1000")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.claimed("pay#1", "a", time.Now().Add(-time.Hour))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	expect := func(state, id string) {
		t.Helper()
		line, err := lines.ReadString('\n')
		if fields := strings.Fields(line); err != nil || len(fields) != 5 || fields[1] != state || fields[4] != id {
			t.Errorf("line %q, %v, want %s of %s", line, err, state, id)
		}
	}
	expect("lapsed", "pay#1")
	s.claimed("pay#2", "b", time.Now().Add(time.Hour))
	expect("running", "pay#2")
	s.ok("release", "pay#1", "--yes")
	expect("released", "pay#1")
	s.ok("resolve", "pay#1", "--retention", "24h", "--completed", "--no-result", "--yes")
	expect("gone", "pay#1")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err := cmd.Wait(); err != nil || len(rest) > 0 {
		t.Errorf("it ends with %v and says %q", err, rest)
	}
	if err != nil {
		t.Error(err)
	}
}

// On a terminal the oldest records stand in a table of so many rows.
func TestWatchDrawsATable(t *testing.T) {
	s := newScene(t)
	s.samples()
	to, err := (&storeFlags{table: s.table}).open(t.Context(), flag.NewFlagSet("watch", flag.ContinueOnError))
	if err != nil {
		t.Fatal(err)
	}
	o := watcher{rows: 3}
	o.status = "INPROGRESS"
	var out strings.Builder
	if err := o.look(t.Context(), &out, to, true); err != nil {
		t.Fatal(err)
	}
	clock, table, _ := strings.Cut(strings.TrimPrefix(out.String(), "\x1b[H"), "  ")
	if _, err := time.Parse(time.TimeOnly, clock); err != nil {
		t.Error(err)
	}
	golden(t, "watch", strings.ReplaceAll(table, "\x1b", "<ESC>"))
}

// A line for every 10,000 items or so, of all that was read so far.
func TestProgressIsOfAllPages(t *testing.T) {
	var told bytes.Buffer
	p := &progress{to: &told}
	for _, units := range []float64{2.6, 3, 4, 5, 6} {
		p.page(driver.Progress{Read: 6000, Units: units})
	}
	p.end()
	want := "read 12000 items in 2 pages, 6 read units\nread 24000 items in 4 pages, 15 read units\n"
	if told.String() != want {
		t.Errorf("told\n%swant\n%s", told.String(), want)
	}
}
