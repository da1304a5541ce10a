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
			s.Series = s.by[(i+n)%len(s.by)].name
			if err := r.measure(s, n); err != nil {
				return fmt.Errorf("%+v: %w", s.Case, err)
			}
		}
	}
	_, err := fmt.Fprintf(r.servers.log, "round %d: %.0f s\n", n, time.Since(began).Seconds())
	return err
}

// measure measures the series of s.
func (r *run) measure(s scenario, round int) error {
	w := r.crew[s.Series]
	if w == nil { // without Node
		return nil
	}
	on := r.servers.of[work.All[s.Series].On]
	j := work.Job{
		Case: s.Case, Endpoint: on.endpoints[s.Latency], Table: on.table, Calls: s.calls,
		// Short, as some series store it in items whose capacity is metered.
		Keys: fmt.Sprintf("%s-%d-%d", s.Series, s.keys, round),
	}
	if s.Records > 0 {
		j.Table = r.servers.filled[s.Records]
	}
	if s.Metered {
		j.Endpoint = r.servers.meter.URL()
	}
	before, err := r.servers.scripts()
	if err != nil {
		return err
	}
	f := work.Figures{}
	if err := w.Call("Worker.Measure", j, &f); err != nil {
		return err
	}
	after, err := r.servers.scripts()
	if err != nil {
		return err
	}
	f.Calls, f.Scripts, f.ScriptTime = s.calls, after.calls-before.calls, after.took-before.took
	if s.Metered {
		var err error
		if f.WriteUnits, f.ReadUnits, err = r.servers.meter.Read(); err != nil {
			return err
		}
	}
	if round > 0 {
		r.figures[s.Case] = append(r.figures[s.Case], f)
	}
	return nil
}
