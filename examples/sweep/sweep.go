package main

import (
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// sweep deletes expired records page by page, until none is left or the time is up.
// Runs may overlap: each deletion has the condition that the record is still expired.
type sweep struct {
	store          driver.Sweeper
	positions      *positions // nil for PostgreSQL, which finds expired records by an index
	older, reserve time.Duration
}

type report struct {
	Deleted  int  `json:"deleted"`
	Complete bool `json:"complete"`
}

// run sweeps at least one page. The position is stored after each, so that the next run
// continues there, whatever ends this one.
func (s *sweep) run(ctx context.Context) (done report, err error) {
	defer func() { slog.Info("swept", "deleted", done.Deleted, "complete", done.Complete, "error", err) }()
	cutoff := time.Now().Add(-s.older)
	after, err := s.positions.load(ctx)
	if err != nil {
		return done, err
	}
	for {
		n, progress, err := s.store.Sweep(ctx, cutoff, math.MaxInt, after)
		done.Deleted += n
		if err == nil {
			err = s.positions.store(ctx, after, progress.Next)
		}
		if err != nil {
			return done, err
		}
		if after = progress.Next; after == "" {
			done.Complete = true
			return done, nil
		}
		if s.timeIsUp(ctx) {
			return done, nil
		}
	}
}

func (s *sweep) timeIsUp(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < s.reserve
}
