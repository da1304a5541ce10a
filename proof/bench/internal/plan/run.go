package plan

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/lambda-once/once/local/wire"
	"github.com/lambda-once/once/proof/bench/internal/crew"
	"github.com/lambda-once/once/proof/bench/internal/servers"
	"github.com/lambda-once/once/proof/bench/internal/work"
)

// A run has what scenarios need.
type run struct {
	crew      *crew.Crew
	servers   servers.All
	endpoints map[place]string
	filled    map[int]string // tables, by their number of records
	results   *Results
	log       io.Writer
	tables    string // the beginning of their names
}

// A place is a server at a distance.
type place struct {
	server  work.Server
	latency time.Duration
}

// Run measures all scenarios of a plan, round after round, against one server of each
// kind.
func Run(ctx context.Context, p Plan, c *crew.Crew, all servers.All, log io.Writer) (_ *Results, err error) {
	r := &run{
		crew: c, servers: all, log: log, tables: "bench-" + rand.Text(), filled: map[int]string{},
		endpoints: map[place]string{},
		results: &Results{
			Plan: p, Labels: map[string]string{}, Servers: map[work.Server]string{}, figures: map[Key][]work.Figures{}, calls: map[Key]int{},
			Capacity: map[CapacityKey]Units{},
		},
	}
	for _, s := range work.All {
		if c.Has(s.Name) {
			r.results.Labels[s.Name] = s.Label
		}
	}
	for name, server := range all.ByName {
		r.results.Servers[name] = server.Version
		r.endpoints[place{name, 0}] = server.Endpoint(server.Addr)
		for _, latency := range p.Latencies[1:] {
			d, err := wire.Delay(server.Addr, latency)
			if err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, d.Close()) }()
			r.endpoints[place{name, latency}] = server.Endpoint(d.Addr())
		}
	}
	for _, s := range p.Scenarios {
		if err := r.fill(ctx, s.Records); err != nil {
			return nil, err
		}
	}
	if err := r.meter(ctx, r.endpoints[place{work.DynamoDB, 0}]); err != nil {
		return nil, err
	}
	// Round 0 warms up: connections, compilers, the servers. Latency warms nothing, and
	// nobody looks at the times of a single round.
	if p.Rounds == 1 {
		return r.results, r.round(ctx, 1)
	}
	if err := r.round(ctx, 0); err != nil {
		return nil, err
	}
	began := time.Now()
	for round := 1; ; round++ {
		if err := r.round(ctx, round); err != nil {
			return nil, err
		}
		// Another one of the same length would end too late.
		if mean := time.Since(began) / time.Duration(round); round >= p.Rounds && time.Since(began)+mean > p.Time {
			return r.results, nil
		}
	}
}

// round measures every scenario once, in tables of its own.
func (r *run) round(ctx context.Context, round int) error {
	began, table := time.Now(), fmt.Sprintf("%s-round-%d", r.tables, round)
	for _, server := range r.servers.ByName {
		if err := server.CreateTable(ctx, table); err != nil {
			return err
		}
	}
	for _, s := range r.results.Plan.Scenarios {
		if round == 0 && s.Latency > 0 {
			continue
		}
		if err := r.scenario(s, table, round); err != nil {
			return err
		}
	}
	for _, server := range r.servers.ByName {
		if err := server.DropTable(ctx, table); err != nil {
			return err
		}
	}
	r.results.Rounds = round
	_, err := fmt.Fprintf(r.log, "round %d: %.0f s\n", round, time.Since(began).Seconds())
	return err
}

// scenario asks each series in turn. Each round begins with another one, so that
// none always pays for what its predecessor left behind.
func (r *run) scenario(s Scenario, table string, round int) error {
	if s.Records > 0 {
		table = r.filled[s.Records]
	}
	for i := range s.Series {
		series := s.Series[(i+round)%len(s.Series)]
		if !r.crew.Has(series) {
			continue
		}
		f, err := r.crew.Measure(series, work.Job{
			Kind: s.Kind, Endpoint: r.endpoints[place{serverOf(series), s.Latency}], Table: table,
			Keys:  fmt.Sprintf("%s-%s-%d-%d-%d-%d", series, family(s.Kind), s.Latency, s.Callers, s.Size, round),
			Calls: s.Calls, Callers: s.Callers, Size: s.Size,
		})
		if err != nil {
			return err
		}
		if round > 0 {
			r.results.add(Key{series, s.Kind, s.Latency, s.Callers, s.Size, s.Records}, s.Calls, f)
		}
	}
	return nil
}

func serverOf(series string) work.Server {
	i := slices.IndexFunc(work.All, func(s work.Series) bool { return s.Name == series })
	return work.All[i].On
}

// family is the same for calls and their repetitions.
func family(k work.Kind) work.Kind {
	switch k {
	case work.Duplicate:
		return work.First
	case work.Requeue:
		return work.Queue
	case work.Restream:
		return work.Stream
	}
	return k
}
