package docs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// The code of docs/guarantees.md.

func payOuts(store driver.Store) (*idempotent.Executor, error) {
	x, err := idempotent.New("pay-out", store, &idempotent.Config{MaxAttempts: 1})
	return x, err
}

func TestGuaranteesPageOfMaxAttempts(t *testing.T) {
	x, err := payOuts(memory.New(0))
	check.Must(t, err)
	failure, runs := errors.New("the bank did not answer"), 0
	pay := func(id string, err error) error {
		_, err = idempotent.Do(t.Context(), x, idempotent.Key{ID: id}, func(context.Context) (string, error) { runs++; return "", err })
		return err
	}
	check.Equal(t, pay("1", failure), failure, "first")
	check.Is(t, pay("1", nil), idempotent.ErrOutcomeUnknown, "second")
	check.Equal(t, runs, 1, "runs")
	check.Is(t, pay("2", idempotent.Retryable(failure)), failure, "nothing was done")
	check.Nil(t, pay("2", nil), "after that")
	check.Equal(t, runs, 3, "runs")
}

// invoked calls x as an invocation does that starts now and has a timeout of 10 s.
func invoked(t *testing.T, x *idempotent.Executor, fn func(context.Context) (string, error)) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
	defer cancel()
	_, err := idempotent.Do(ctx, x, idempotent.Key{ID: "k"}, fn)
	return err
}

// The times of the time axis in docs/guarantees.md.
func TestGuaranteesPageOfTheTimeAxis(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	page := read(t, "docs/guarantees.md")
	synctest.Test(t, func(t *testing.T) {
		x, err := idempotent.New("pay", memory.New(0), nil)
		check.Must(t, err)
		began, thaw := time.Now(), make(chan struct{})
		var handlerEnd time.Time
		go func() {
			_ = invoked(t, x, func(ctx context.Context) (string, error) {
				handlerEnd, _ = ctx.Deadline()
				<-thaw // frozen past its lease
				return "", nil
			})
		}()
		synctest.Wait()
		hasLine := func(format string, d time.Duration) {
			t.Helper()
			line := fmt.Sprintf(format+"\n", d.Milliseconds())
			check.True(t, strings.Contains(page, line), "the picture has the line", line)
		}
		hasLine("handler, its context ends at 9.5 s :0, %d", handlerEnd.Sub(began))

		var until time.Time
		refused := func() bool {
			var running *idempotent.InProgressError
			err := invoked(t, x, func(context.Context) (string, error) { return "", nil })
			if errors.As(err, &running) {
				until = running.Until
			}
			return running != nil
		}
		var last time.Duration
		for refused() {
			last = time.Since(began)
			time.Sleep(10 * time.Millisecond) // of the bubble: the next poll
		}
		hasLine("one ClockSkew :0, %d", until.Sub(began))
		hasLine("InProgressError :crit, 0, %d", last)
		close(thaw)
		synctest.Wait()
	})
}
