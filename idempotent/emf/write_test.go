package emf_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/emf"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// writes keeps each write apart. It is not safe for concurrent use, and says
// so when it is used so.
type writes struct {
	busy, overlap atomic.Bool
	all           [][]byte
}

func (w *writes) Write(p []byte) (int, error) {
	if !w.busy.CompareAndSwap(false, true) {
		w.overlap.Store(true)
		return 0, errors.New("two writes at once")
	}
	runtime.Gosched()
	w.all = append(w.all, bytes.Clone(p))
	w.busy.Store(false)
	return len(p), nil
}

func TestALineIsOneWrite(t *testing.T) {
	var w writes
	o := observer(t, &emf.Options{Writer: &w})
	var tasks sync.WaitGroup
	for range 8 {
		tasks.Go(func() {
			for range 100 {
				o.Observe(t.Context(), idempotent.Event{Operation: "op", Outcome: idempotent.OutcomeReplayed})
			}
		})
	}
	tasks.Wait()
	check.Equal(t, len(w.all), 800, "writes, two at once")
	check.False(t, w.overlap.Load())
	for _, one := range w.all {
		if document(t, one); bytes.IndexByte(one, '\n') != len(one)-1 {
			t.Errorf("no line: %q", one)
		}
	}
}

type long[T any] struct{ error }

// A pipe takes 4,096 bytes at once, also beside what another process or the
// standard error writes to it.
func TestLongestLine(t *testing.T) {
	var w writes
	o := observer(t, &emf.Options{Namespace: strings.Repeat("n", 255), Writer: &w})
	x, err := idempotent.New(strings.Repeat(`"`, 255), memory.New(0), &idempotent.Config{Observer: o})
	check.Must(t, err)
	type t1 = long[long[long[long[long[long[long[long[int]]]]]]]]
	type t2 = long[long[long[long[long[long[long[long[t1]]]]]]]]
	type t3 = long[long[long[long[long[long[long[long[t2]]]]]]]]
	type t4 = long[long[long[long[long[long[long[long[t3]]]]]]]]
	_, _ = idempotent.Do(t.Context(), x, theKey, func(context.Context) (int, error) {
		return 0, errors.Join(t1{}, t2{}, t3{}, t4{})
	})
	n := len(w.all[0])
	check.True(t, n <= 4096, n)
	check.True(t, n >= 2500, n)
	document(t, w.all[0])
	keyless, err := idempotent.New(strings.Repeat(`"`, 255), memory.New(0), &idempotent.Config{Observer: o})
	check.Must(t, err)
	fails := func(int) (idempotent.Key, error) {
		return idempotent.Key{}, errors.Join(&idempotent.MissingKeyError{Part: "scope"}, t1{}, t2{}, t3{}, t4{})
	}
	_, _ = idempotent.Wrap(keyless, fails, func(context.Context, int) (int, error) { return 0, nil })(t.Context(), 0)
	n = len(w.all[1])
	check.True(t, n <= 4096, n)
	check.True(t, n >= 2800, n)
	if document(t, w.all[1])["reason"] != "unknown caller" {
		t.Errorf("%d bytes: %s", n, w.all[1])
	}
}

type fails struct{ n int }

func (f fails) Write([]byte) (int, error) {
	if f.n > 0 {
		return f.n, nil
	}
	return 0, errors.New("the pipe is broken")
}

func TestWriteErrors(t *testing.T) {
	e := idempotent.Event{Operation: "op", Outcome: idempotent.OutcomeExecuted}
	for want, w := range map[string]io.Writer{"the pipe is broken": fails{}, "short write": fails{1}} {
		var reported []string
		o := observer(t, &emf.Options{Writer: w, OnError: func(err error) { reported = append(reported, err.Error()) }})
		o.Observe(t.Context(), e)
		o.Observe(t.Context(), e)
		if len(reported) != 2 || !strings.Contains(reported[1], want) || !strings.Contains(reported[1], `"op"`) {
			t.Errorf("reported %q", reported)
		}
	}
	var log bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	observer(t, &emf.Options{Writer: fails{}}).Observe(t.Context(), e)
	check.Contains(t, log.String(), "level=ERROR")
	check.Contains(t, log.String(), "the pipe is broken")
}
