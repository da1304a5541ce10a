package crashmatrix

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/lambda-once/once/internal/kill"
)

// short returns modes with fewer points, for CI. Modes that promise exactly one effect
// keep all points. All other modes omit the kills before a call, which servers cannot
// distinguish from the kill after the previous one. No process is killed twice.
func short(modes []mode) (fewer []mode) {
	for _, m := range modes {
		if m.first.At == 0 {
			m.short = !m.exactly
			fewer = append(fewer, m)
		}
	}
	return fewer
}

// run plays modes, and prints every point and a summary. It returns an error that lists
// the broken promises.
func run(ctx context.Context, out io.Writer, modes []mode) (err error) {
	began := time.Now()
	s, err := newStage(ctx, modes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	matrices := make([]*matrix, len(modes))
	var group sync.WaitGroup
	for i, m := range modes {
		matrices[i] = &matrix{mode: m, done: make(chan struct{})}
		group.Go(func() { matrices[i].fill(ctx, s) })
	}
	defer group.Wait()
	defer cancel()
	for _, m := range matrices {
		<-m.done
		if _, err := fmt.Fprint(out, m); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprint(out, summary(matrices, time.Since(began))); err != nil {
		return err
	}
	var errs []error
	for _, m := range matrices {
		errs = append(errs, m.verdict())
	}
	return errors.Join(errs...)
}

// matrix contains the results of a mode: first of the undisturbed run, then of each
// of its calls.
type matrix struct {
	mode
	results []kill.Run
	done    chan struct{}
}

func (m *matrix) fill(ctx context.Context, s *stage) {
	defer close(m.done)
	scene := s.scene(m.mode)
	calm, err := scene.Learn(ctx)
	calm.Err = err
	m.results = []kill.Run{calm}
	if err == nil {
		m.results = append(m.results, scene.PlayAll(ctx, kill.Kills(calm.Calls, m.short))...)
	}
}

// points returns the number of points, and of those where the promise held.
func (m *matrix) points() (all, passed int) {
	for _, r := range m.results {
		if r.At == 0 {
			continue
		}
		all++
		if r.Broken == nil && r.Err == nil {
			passed++
		}
	}
	return all, passed
}

// verdict returns nil if the promise of the mode held, or was broken in a mode that
// must break it.
func (m *matrix) verdict() error {
	var failed []kill.Run
	for _, r := range m.results {
		if r.Err != nil {
			failed = append(failed, r)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%s: %d of %d runs failed: killed %v: %w", m.name, len(failed), len(m.results), failed[0].At, failed[0].Err)
	}
	all, passed := m.points()
	switch calm := m.results[0]; {
	case calm.Broken != nil:
		return fmt.Errorf("%s: undisturbed: %s: %w", m.name, calm.Seen, calm.Broken)
	case m.harmful && passed == all:
		return fmt.Errorf("%s: nothing went wrong at %d points: this matrix shows nothing", m.name, all)
	case !m.harmful && passed < all:
		return fmt.Errorf("%s: the promise was broken at %d of %d points", m.name, all-passed, all)
	}
	return nil
}

// String returns a line for every run.
func (m *matrix) String() string {
	rows := [][]any{{"call", "killed", "retries", "effects", "promise"}}
	for _, r := range m.results {
		call, at, verdict := "all", "never", "kept"
		if r.At != 0 {
			call, at = fmt.Sprintf("%2d %s %s", r.Call.Number, r.Call.Server, r.Call.Operation), r.At.String()
		}
		if r.Broken != nil {
			verdict = "BROKEN: " + r.Broken.Error()
		}
		if r.Err != nil {
			verdict = "ERROR: " + strings.ReplaceAll(r.Err.Error(), "\n", "; ")
		}
		rows = append(rows, []any{call, at, r.Retries, r.Seen, verdict})
	}
	return fmt.Sprintf("\n%s (%s): %s\n\n%s", m.name, m.program, m.promise, kill.Table(rows))
}

// summary returns a line for every mode.
func summary(all []*matrix, took time.Duration) string {
	rows := [][]any{{"mode", "points", "kept", ""}}
	killed := 0
	for _, m := range all {
		points, passed := m.points()
		killed += points
		verdict := "as promised"
		switch err := m.verdict(); {
		case err != nil:
			verdict = "NOT as promised"
		case m.harmful:
			verdict = "as expected: nothing is promised"
		}
		rows = append(rows, []any{m.name, points, passed, verdict})
	}
	return fmt.Sprintf("\n%s\n%d points in %v.\n", kill.Table(rows), killed, took.Round(time.Second))
}
