package docs_test

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/dynamo/dynamoenv"
	"github.com/lambda-once/once/dynamo/outbox"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/emf"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/idempotent/s3payload"
	"github.com/lambda-once/once/idempotent/seal"
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

func errorsOf(ctx context.Context, x *idempotent.Executor, p Payment) (int, error) {
	_, err := idempotent.Do(ctx, x, idempotent.Key{ID: p.ID, Payload: p}, func(ctx context.Context) (Receipt, error) {
		return createPayment(ctx, p)
	})
	var running *idempotent.InProgressError
	switch {
	case errors.As(err, &running):
		return 409, nil // and Retry-After; running.Until is the end of the lease
	case errors.Is(err, idempotent.ErrLeaseLost):
		return 409, nil
	case errors.Is(err, idempotent.ErrKeyReused):
		return 422, nil
	case errors.Is(err, idempotent.ErrMissingKey), errors.Is(err, idempotent.ErrInvalidKey):
		return 400, nil
	}
	return 201, err
}

// What the first paragraph of the README says of a second click that comes
// while the first still runs.
func TestReadmeSecondClick(t *testing.T) {
	intro, _, _ := strings.Cut(read(t, "README.md"), "\n```go")
	for _, said := range []string{"refused as *in progress*", "`Config.Wait`"} {
		if !strings.Contains(intro, said) {
			t.Errorf("the first paragraph does not say %q", said)
		}
	}
	for wait, want := range map[time.Duration]error{0: idempotent.ErrInProgress, time.Minute: nil} {
		x, err := idempotent.New("create-payment", memory.New(0), &idempotent.Config{Wait: wait})
		if err != nil {
			t.Fatal(err)
		}
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
		if err := <-first; err != nil {
			t.Error(err)
		}
	}
}

// What the README promises of the first lines, with a store in memory.
func TestReadmeRuns(t *testing.T) {
	x, err := policies(memory.New(0))
	if err != nil {
		t.Fatal(err)
	}
	p := Payment{Customer: "c", ID: "p", Amount: 1}
	handler := idempotent.Wrap(x, key, createPayment)
	first, err := handler(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := handler(t.Context(), p); err != nil || again != first {
		t.Errorf("got %v, %v, first %v", again, err, first)
	}
	p.Amount = 2
	if _, err := handler(t.Context(), p); !errors.Is(err, idempotent.ErrKeyReused) {
		t.Errorf("got %v", err)
	}
	p.Customer = "d"
	for _, want := range []int{201, 201} {
		if status, err := errorsOf(t.Context(), x, p); err != nil || status != want {
			t.Errorf("got %d, %v", status, err)
		}
	}
	p.Amount = 3
	if status, err := errorsOf(t.Context(), x, p); err != nil || status != 422 {
		t.Errorf("got %d, %v", status, err)
	}
}

// Every option is in a table of some page.
func TestPagesNameEveryOption(t *testing.T) {
	all := text(t)
	for _, options := range []any{
		idempotent.Config{}, dynamo.Options{},
		handlers.SQSOptions{}, handlers.StreamOptions[any]{}, handlers.EventOptions{}, httpapi.Options{}, emf.Options{},
		relay.Options{}, outbox.Options{}, seal.Options{}, seal.DataKeyOptions{}, s3payload.Options{},
		dynamoenv.Options{},
	} {
		for i := range reflect.TypeOf(options).NumField() {
			name := reflect.TypeOf(options).Field(i).Name
			if !strings.Contains(all, "| `"+name+"` |") {
				t.Errorf("no page has %T.%s", options, name)
			}
		}
	}
}
