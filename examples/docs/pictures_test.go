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
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

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
