package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/lambda-once/once/proof/internal/tables"
	"github.com/lambda-once/once/proof/soak/worker"
)

// Run sends traffic with faults for a duration. What follows, until every key is
// finished and audited, takes longer the more keys there are. The seed determines all
// choices; 0 is a new one. Run prints it, and then a summary, and returns an error that
// lists the findings of the audit. The program must call [worker.Serve] first, because the
// workers are processes of its own binary.
func Run(ctx context.Context, out io.Writer, duration time.Duration, seed uint64) (err error) {
	server, err := tables.Start(ctx, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if seed == 0 {
		seed = rand.Uint64()
	}
	if _, err := fmt.Fprintf(out, "soak: %v, seed %d\n", duration, seed); err != nil {
		return err
	}
	s, err := play(ctx, server, duration, seed)
	if err != nil {
		return err
	}
	a, err := s.audit(ctx)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(out, s.summary(a)); err != nil {
		return err
	}
	return a.found.err()
}

// stage contains everything that runs.
type stage struct {
	duration         time.Duration
	seed             uint64
	tables           *tables.Server
	records, effects string
	weather          *weather
	crew             []*member
	senders          []sender
	ledger           *ledger
	calls, queue     backlog
	// waiting are deliveries whose callers have left.
	waiting sync.WaitGroup
	// fail ends the test with an error of its own parts.
	fail context.CancelCauseFunc

	driven, replayed     int // calls
	kills, killsInFlight int
	interrupted          int // deliveries
	freezes              int
	atThird, atEnd       map[string]worker.Sample
}

// play sends traffic in bad weather, and drives every key to its end in good one. When
// it returns, nothing changes the tables any more.
func play(parent context.Context, server *tables.Server, duration time.Duration, seed uint64) (s *stage, err error) {
	ctx, fail := context.WithCancelCause(parent)
	defer fail(nil)
	s = &stage{
		duration: duration, seed: seed, tables: server, ledger: newLedger(), fail: fail,
		atThird: map[string]worker.Sample{}, atEnd: map[string]worker.Sample{},
	}
	for _, table := range []*string{&s.records, &s.effects} {
		if *table, err = server.Create(ctx); err != nil {
			return nil, err
		}
	}
	if s.weather, err = newWeather(server.Endpoint(), s.source(1)); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.dismiss(), s.weather.close()) }()
	if err := s.hire(ctx); err != nil {
		return nil, err
	}
	s.storm(ctx)
	s.drive(ctx)
	s.measure(ctx, s.atEnd)
	return s, context.Cause(ctx)
}

// source returns one of the sources of random numbers that the seed determines.
func (s *stage) source(n uint64) *rand.Rand { return rand.New(rand.NewPCG(s.seed, n)) }

// storm sends new traffic, with faults.
func (s *stage) storm(ctx context.Context) {
	storm, end := context.WithTimeout(ctx, s.duration)
	defer end()
	var tasks sync.WaitGroup
	for n := range callers + shards {
		c := &caller{stage: s, name: fmt.Sprint(n), random: s.source(uint64(n) + 10)}
		if n < callers {
			s.senders = append(s.senders, c)
		} else {
			s.senders = append(s.senders, &shard{caller: c, last: map[string]string{}})
		}
	}
	for _, from := range s.senders {
		tasks.Go(func() { from.run(storm) })
	}
	for n, d := range disturbances {
		tasks.Go(func() {
			random := s.source(uint64(n) + 2)
			for wait(storm, between(random, d.from, d.to)) {
				if err := d.happen(storm, s, random); err != nil {
					s.fail(err)
				}
			}
		})
	}
	tasks.Go(func() {
		wait(storm, s.duration/3)
		s.measure(ctx, s.atThird)
	})
	tasks.Wait()
	s.weather.clear()
	s.waiting.Wait()
}

const (
	// driveTimeout is far longer than any lease.
	driveTimeout = 2 * time.Minute
	// replays is how many finished keys are called again, besides those that met
	// with anything unusual.
	replays = 2000
)

// drive sends every unfinished message until its sender was told how it ended. Then it
// calls finished keys once more. If it runs out of time, the audit finds the keys.
func (s *stage) drive(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, driveTimeout)
	defer cancel()
	before := s.ledger.calls
	s.drain(ctx)
	s.driven = s.ledger.calls - before
	for n, key := range slices.Sorted(maps.Keys(s.ledger.entries)) {
		e := s.ledger.entries[key]
		if !e.Kind.Batched() && (e.clouded || n%(1+len(s.ledger.entries)/replays) == 0) {
			s.calls.add(message{request: e.Request}, 0)
			s.replayed++
		}
	}
	s.drain(ctx)
}

// drain returns when nothing is left to send.
func (s *stage) drain(ctx context.Context) {
	var tasks sync.WaitGroup
	for _, from := range s.senders {
		tasks.Go(func() { from.drain(ctx) })
	}
	tasks.Wait()
	s.waiting.Wait()
}

// measure samples the workers that live to the end.
func (s *stage) measure(ctx context.Context, into map[string]worker.Sample) {
	for _, m := range s.crew {
		if m.mortal || ctx.Err() != nil {
			continue
		}
		sample, err := m.sample(ctx)
		if err != nil {
			s.fail(err)
			return
		}
		into[m.name] = sample
	}
}

// audit reads the tables, and judges.
func (s *stage) audit(ctx context.Context) (*auditor, error) {
	ev, err := collect(ctx, s.tables, s.records, s.effects)
	if err != nil {
		return nil, err
	}
	a := audit(s.ledger, ev)
	a.found.flat(s.atThird, s.atEnd)
	return a, nil
}
