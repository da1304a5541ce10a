package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/lambda-once/once/proof/bench/internal/work"
)

// A run measures the scenarios of a plan, round after round.
type run struct {
	*results
	crew    crew
	servers *servers
}

// measureAll runs a plan against servers of its own, or those of the environment.
func measureAll(ctx context.Context, p plan, log io.Writer) (_ *results, err error) {
	s, err := startServers(ctx, p, log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	c, node, err := startCrew(ctx, log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	r := &run{&results{plan: p, versions: s.versions, Node: node, figures: map[work.Case][]work.Figures{}}, c, s}
	// Round 0 warms up: connections, compilers, the servers. Latency warms nothing, and
	// nobody looks at the times of a single round.
	if p.atLeast > 1 {
		if err := r.round(0); err != nil {
			return nil, err
		}
	}
	for began := time.Now(); ; {
		if err := r.round(r.Rounds + 1); err != nil {
			return nil, err
		}
		r.Rounds++
		// Another one of the same length would end too late.
		mean := time.Since(began) / time.Duration(r.Rounds)
		if r.Rounds >= p.atLeast && time.Since(began)+mean > p.time {
			return r.results, nil
		}
	}
}

// round measures every scenario once. It asks each series in turn, and begins with a
// different one in each round, so that none always pays for its predecessor.
func (r *run) round(n int) error {
	began := time.Now()
	for _, s := range r.scenarios() {
		if n == 0 && s.Latency > 0 {
			continue
		}
		for i := range s.by {
			series := s.by[(i+n)%len(s.by)].name
			if err := r.measure(s, series, n); err != nil {
				return fmt.Errorf("%s, %+v: %w", series, s.Case, err)
			}
		}
	}
	_, err := fmt.Fprintf(r.servers.log, "round %d: %.0f s\n", n, time.Since(began).Seconds())
	return err
}

// measure measures one of the series of a scenario.
func (r *run) measure(s scenario, series string, round int) error {
	w := r.crew[series]
	if w == nil {
		return nil
	}
	c := s.Case
	c.Series = series
	on := r.servers.of[work.All[series].On]
	j := work.Job{
		Case: c, Endpoint: on.endpoints[c.Latency], Table: on.table, Calls: s.calls,
		// Short, as some series store it in items whose capacity is metered.
		Keys: fmt.Sprintf("%s-%d-%d", series, s.keys, round),
	}
	if c.Records > 0 {
		j.Table = r.servers.filled[c.Records]
	}
	if c.Metered {
		j.Endpoint = r.servers.meter.URL()
	}
	f := work.Figures{}
	if err := w.Call("Worker.Measure", j, &f); err != nil {
		return err
	}
	f.Calls = s.calls
	if c.Metered {
		var err error
		if f.WriteUnits, f.ReadUnits, err = r.servers.meter.Read(); err != nil {
			return err
		}
	}
	if round > 0 {
		r.figures[c] = append(r.figures[c], f)
	}
	return nil
}
