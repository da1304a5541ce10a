package docs_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// The code of README.md.

type Payment struct {
	Customer, ID string
	Amount       int64
}

type Receipt struct{ ID string }

func createPayment(ctx context.Context, p Payment) (Receipt, error) {
	return Receipt{ID: idempotent.DownstreamKey(ctx, "charge")}, nil
}

func key(p Payment) (idempotent.Key, error) {
	return idempotent.Key{Scope: p.Customer, ID: p.ID, Payload: p}, nil
}

func policies(store driver.Store) (*idempotent.Executor, error) {
	return idempotent.New("create-payment", store, &idempotent.Config{
		Retention: 7 * 24 * time.Hour,
		Wait:      5 * time.Second,
		Observer:  idempotent.LogObserver{Logger: slog.Default()},
	})
}

// executor returns an Executor whose records are in memory.
func executor(t *testing.T, operation string, c *idempotent.Config) *idempotent.Executor {
	t.Helper()
	x, err := idempotent.New(operation, memory.New(0), c)
	check.Must(t, err)
	return x
}

// The first paragraph of the README speaks of a second click that comes while the first
// still runs.
func TestReadmeSecondClick(t *testing.T) {
	intro, _, _ := strings.Cut(read(t, "README.md"), "\n```go")
	for _, said := range []string{"refused as *in progress*", "`Config.Wait`"} {
		check.Contains(t, intro, said, "the first paragraph")
	}
	for wait, want := range map[time.Duration]error{0: idempotent.ErrInProgress, time.Minute: nil} {
		x := executor(t, "create-payment", &idempotent.Config{Wait: wait})
		click := func(run func() string) (string, error) {
			return idempotent.Do(t.Context(), x, idempotent.Key{ID: "p"}, func(context.Context) (string, error) { return run(), nil })
		}
		runs, goOn, first := make(chan bool), make(chan bool), make(chan error)
		go func() {
			_, err := click(func() string { close(runs); <-goOn; return "first" })
			first <- err
		}()
		<-runs
		if wait > 0 {
			close(goOn) // or it would wait for ever
		}
		got, err := click(func() string { return "second" })
		if wait == 0 {
			close(goOn)
		}
		if !errors.Is(err, want) || want == nil && got != "first" {
			t.Errorf("Wait %v: the second click got %q, %v", wait, got, err)
		}
		check.Nil(t, <-first)
	}
}
