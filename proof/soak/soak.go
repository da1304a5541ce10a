package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/proof/internal/tables"
	"github.com/lambda-once/once/proof/soak/internal/job"
)

// Options are the options of [Run].
type Options struct {
	// Duration is how long traffic and faults last. What follows, until every key is
	// finished and audited, takes longer the more keys there are.
	Duration time.Duration
	// Seed determines all choices. Default: a new one.
	Seed uint64
	// Root is the folder of the repository. Default: the parent of the current one.
	Root string
}

// Run prints the seed, and then a summary. It returns an error that lists what the
// audit found.
func Run(ctx context.Context, out io.Writer, o Options) (err error) {
	s, err := newStage(ctx, out, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.play(ctx); err != nil {
		return err
	}
	v, err := s.audit(ctx)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(out, s.summary(v)); err != nil {
		return err
	}
	return v.err()
}

// stage contains everything that runs.
type stage struct {
	*traffic
	Options
	random  *rand.Rand
	tables  *tables.Server
	records string
	effects string
	weather *weather
	binary  string

	began                time.Time
	driven, replayed     int // calls
	kills, killsInFlight int
	interrupted          int // deliveries
	freezes              int
	faults, requests     map[string]int
	atThird, atEnd       map[string]job.Sample
}

func newStage(ctx context.Context, out io.Writer, o Options) (s *stage, err error) {
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	if o.Root == "" {
		o.Root = ".."
	}
	if _, err := fmt.Fprintf(out, "soak: %v, seed %d\n", o.Duration, o.Seed); err != nil {
		return nil, err
	}
	s = &stage{Options: o, random: rand.New(rand.NewPCG(o.Seed, 0)), atThird: map[string]job.Sample{}, atEnd: map[string]job.Sample{}}
	s.traffic = &traffic{ledger: newLedger(), shards: newShards()}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.tables, err = tables.Start(ctx, out); err != nil {
		return s, err
	}
	for _, table := range []*string{&s.records, &s.effects} {
		if *table, err = s.tables.Create(ctx); err != nil {
			return s, err
		}
	}
	if s.weather, err = newWeather(s.tables.Endpoint(), rand.New(rand.NewPCG(o.Seed, 1))); err != nil {
		return s, err
	}
	if s.binary, err = lambdaruntime.Build(ctx, filepath.Join(o.Root, "proof", "soak"), "./worker"); err != nil {
		return s, err
	}
	return s, s.hire(ctx)
}

// hire starts the workers.
func (s *stage) hire(ctx context.Context) error {
	for _, r := range roles {
		of := r.settings
		of.Records, of.Effects, of.Endpoint, of.Direct = s.records, s.effects, s.weather.URL(), s.tables.Endpoint()
		of.Timeout, of.Lease, of.ClockSkew, of.Reserve = timeout, lease, skew, 200*time.Millisecond
		settings, err := of.Env()
		if err != nil {
			return err
		}
		w := &worker{role: r, binary: s.binary, env: []string{settings}}
		if r.onLambda {
			w.env = append(w.env, "AWS_LAMBDA_FUNCTION_NAME=soak")
		}
		if err := w.start(ctx); err != nil {
			return err
		}
		s.crew = append(s.crew, w)
	}
	return nil
}

// play sends traffic in bad weather, and drives every key to its end in good one. When
// it returns, nothing changes the tables any more.
func (s *stage) play(ctx context.Context) error {
	s.began = time.Now()
	storm, end := context.WithTimeout(ctx, s.Duration)
	defer end()
	var tasks sync.WaitGroup
	for n := range callers {
		c := &caller{traffic: s.traffic, name: fmt.Sprint(n), random: rand.New(rand.NewPCG(s.Seed, uint64(n)+2))}
		tasks.Go(func() { c.run(storm) })
	}
	tasks.Go(func() { s.disturb(storm) })
	tasks.Go(func() {
		wait(storm, s.Duration/3)
		s.measure(ctx, s.atThird)
	})
	tasks.Wait()
	s.weather.clear()
	s.waiting.Wait()
	if err := errors.Join(s.failure(), ctx.Err()); err != nil {
		return err
	}
	if err := s.drive(ctx); err != nil {
		return err
	}
	s.measure(ctx, s.atEnd)
	return errors.Join(s.failure(), s.settle())
}

// measure samples the workers that live to the end.
func (s *stage) measure(ctx context.Context, into map[string]job.Sample) {
	for _, w := range s.crew {
		if w.mortal {
			continue
		}
		sample, err := w.sample(ctx)
		if err != nil {
			s.broken(err)
			return
		}
		into[w.name] = sample
	}
}

// settle ends the workers, and waits for the requests that are still on their way.
func (s *stage) settle() error {
	w := s.weather
	s.weather = nil
	err := errors.Join(s.dismiss(), w.close())
	s.faults, s.requests = w.seen()
	return err
}

// audit reads the tables, and judges.
func (s *stage) audit(ctx context.Context) (verdict, error) {
	ev, err := collect(ctx, s.tables, s.records, s.effects)
	if err != nil {
		return verdict{}, err
	}
	v := audit(s.ledger, ev)
	v.findings = append(v.findings, flat(s.atThird, s.atEnd)...)
	return v, nil
}

// dismiss ends the workers.
func (s *stage) dismiss() error {
	var errs []error
	for _, w := range s.crew {
		if w.process != nil {
			errs = append(errs, w.process.Kill())
			w.process.client.CloseIdleConnections()
		}
	}
	s.crew = nil
	return errors.Join(errs...)
}

func (s *stage) close() error {
	errs := []error{s.dismiss()}
	if s.weather != nil {
		errs = append(errs, s.weather.close())
	}
	if s.binary != "" {
		errs = append(errs, os.RemoveAll(filepath.Dir(s.binary)))
	}
	if s.tables != nil {
		errs = append(errs, s.tables.Close())
	}
	return errors.Join(errs...)
}
