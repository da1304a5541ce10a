package lanes_test

import (
	"bytes"
	"context"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/lambda-once/once/handlers/internal/lanes"
	"github.com/lambda-once/once/internal/check"
)

// eachWay runs n records one after another, in one lane, in lanes of their own,
// and claimed ahead. Each way, a goroutine goes on with the next record.
func eachWay(t *testing.T, n int, one func(t *testing.T, ctx context.Context, turn *lanes.Turn) error, check func(t *testing.T, results []error)) {
	for name, way := range map[string]struct {
		lanes [][]int
		ahead int
	}{
		"one lane":        {lanes.InOrder(n), 0},
		"one lane, ahead": {lanes.InOrder(n), n},
		"lanes":           {lanes.By(n, func(i int) int { return i }), 0},
		"lanes, ahead":    {lanes.By(n, func(i int) int { return i }), n},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := pprof.WithLabels(t.Context(), pprof.Labels("of", "the event"))
			runner := lanes.Runner{Concurrency: 1, Ahead: way.ahead, Errors: runnerErrs}
			check(t, runner.Run(ctx, lanes.Schedule{Lanes: way.lanes}, n, func(ctx context.Context, turn *lanes.Turn) error {
				if err := turn.Take(ctx); err != nil {
					return err
				}
				return one(t, ctx, turn)
			}))
		})
	}
}

// labels returns what the profiler knows of the goroutine that calls it.
func labels(t *testing.T) string {
	var profile bytes.Buffer
	check.Nil(t, pprof.Lookup("goroutine").WriteTo(&profile, 1))
	for stack := range strings.SplitSeq(profile.String(), "\n\n") {
		if strings.Contains(stack, "lanes_test.labels") {
			_, found, _ := strings.Cut(stack, "# labels: ")
			found, _, _ = strings.Cut(found, "\n")
			return found
		}
	}
	t.Error("the profile lacks this goroutine")
	return ""
}

func TestRecordHasTheLabelsOfItsEvent(t *testing.T) {
	eachWay(t, 3, func(t *testing.T, ctx context.Context, _ *lanes.Turn) error {
		check.Equal(t, labels(t), `{"of":"the event"}`, "it begins with the labels")
		pprof.SetGoroutineLabels(pprof.WithLabels(ctx, pprof.Labels("of", "a record")))
		return nil
	}, func(t *testing.T, results []error) {
		check.Slice(t, results, make([]error, 3))
	})
}

// Those that follow have another goroutine, in the same lane too.
func TestRecordThatEndsItsGoroutineEndsAlone(t *testing.T) {
	eachWay(t, 5, func(_ *testing.T, _ context.Context, turn *lanes.Turn) error {
		if turn.Index()%4 > 0 {
			runtime.Goexit()
		}
		return nil
	}, func(t *testing.T, results []error) {
		check.Slice(t, results, []error{nil, errNoEnd, errNoEnd, errNoEnd, nil})
	})
}
