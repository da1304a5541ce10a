package plan

import (
	"context"
	"errors"
	"fmt"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/proof/bench/internal/meter"
	"github.com/lambda-once/once/proof/bench/internal/work"
)

// meteredCalls is how many calls of a kind are metered. They all cost the same.
const meteredCalls = 5

// meter finds what calls consume, with results of several sizes.
func (r *run) meter(ctx context.Context, endpoint string) (err error) {
	m, err := meter.New(endpoint)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	table := r.tables + "-metered"
	if err := dynamo.CreateTable(ctx, r.servers.Client, table, nil); err != nil {
		return err
	}
	read := func(series string, j work.Job) error {
		j.Endpoint, j.Table, j.Callers = m.URL(), table, 1
		_, err := r.crew.Measure(series, j)
		u, metering := m.Read()
		r.results.Capacity[CapacityKey{series, j.Kind, j.Bytes, j.Size}] = unitsOf(u, j.Calls)
		return errors.Join(err, metering)
	}
	for _, series := range MeteredSeries {
		if !r.crew.Has(series) {
			continue
		}
		for _, bytes := range r.results.Plan.Results {
			for _, kind := range []work.Kind{work.First, work.Duplicate} {
				j := work.Job{Kind: kind, Keys: fmt.Sprintf("%s-%d", series, bytes), Calls: meteredCalls, Bytes: bytes}
				if err := read(series, j); err != nil {
					return err
				}
			}
		}
	}
	for _, size := range Steps {
		if err := read("once", work.Job{Kind: work.Steps, Keys: fmt.Sprintf("steps-%d", size), Calls: 1, Size: size}); err != nil {
			return err
		}
	}
	return nil
}

// A CapacityKey names a metered call.
type CapacityKey struct {
	Series string
	Kind   work.Kind
	Bytes  int // of the result
	Size   int // its steps
}

// Units are what a call consumes.
type Units struct{ Requests, Write, Read float64 }

func unitsOf(u meter.Usage, calls int) Units {
	n := float64(calls)
	return Units{float64(u.Requests) / n, (u.Write + u.Refused) / n, u.Read / n}
}
