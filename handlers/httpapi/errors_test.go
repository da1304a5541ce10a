package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

func created(_ context.Context, run int, _ string) (httpReply, error) {
	return httpReply{201, nil, fmt.Sprint("run ", run)}, nil
}

func TestDuplicateOfARunningRequestConflicts(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		running, finish := make(chan struct{}), make(chan struct{})
		s := newSite(t, d, newExecutor(t, memory.New(0), nil), nil, func(ctx context.Context, run int, body string) (httpReply, error) {
			close(running)
			<-finish
			return created(ctx, run, body)
		})
		first := make(chan httpReply, 1)
		go func() {
			r, err := s.send(context.Background(), k)
			check.Nil(t, err)
			first <- r
		}()
		<-running
		duplicate := s.get(k)
		title, _ := isProblem(t, duplicate, 409)
		check.Equal(t, title, "Conflict")
		// The lease is a minute: the hint is not.
		check.Equal(t, duplicate.headers.Get("Retry-After"), "2")
		isProblem(t, s.get(k.with(body("{}"))), 422)
		close(finish)
		r := <-first
		check.Equal(t, r.status, 201)
		check.Equal(t, r.headers.Get("Idempotent-Replayed"), "")
		r = s.get(k)
		check.Equal(t, r.status, 201)
		check.Equal(t, r.headers.Get("Idempotent-Replayed"), "true")
		s.ran(1)
	})
}

func TestHTTPStoreFails(t *testing.T) {
	down := fmt.Errorf("down: %w", driver.ErrUnavailable)
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		store := &hooked{Store: memory.New(0), create: func(driver.Record) error { return down }}
		// The end of a run is retried for as long as its lease lasts.
		s := newSite(t, d, newExecutor(t, store, &idempotent.Config{Lease: 20 * time.Millisecond, Reserve: time.Millisecond}), nil, created)
		wantRetry := func() {
			t.Helper()
			r := s.get(k)
			isProblem(t, r, 503)
			check.Equal(t, r.headers.Get("Retry-After"), "1")
		}
		wantRetry()
		s.ran(0)
		store.create = nil
		store.change = func(_ driver.Fence, c driver.Change) error {
			if c.Status != "" {
				return down
			}
			return nil
		}
		wantRetry()
		s.ran(1)
	})
}

// A call that lost its lease returns what the record contains.
func TestHTTPLeaseLost(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		store := &hooked{Store: memory.New(0)}
		taken := func(r *driver.Record) { r.Lease = time.Now().Add(time.Minute).Truncate(time.Millisecond) }
		status := 201
		s := newSite(t, d, newExecutor(t, store, nil), nil, func(ctx context.Context, run int, body string) (httpReply, error) {
			store.plant(t, taken)
			return httpReply{status: status, body: "mine"}, nil
		})
		for _, status = range []int{201, 503} {
			r := s.get(keyed("k" + fmt.Sprint(status)))
			isProblem(t, r, 409)
			check.Equal(t, r.headers.Get("Retry-After"), "1")
		}
		taken = func(r *driver.Record) {
			r.Status, r.Lease, r.Data = driver.Completed, time.Time{}, []byte(`{"status":202,"headers":{"Location":["/theirs"]},"body":"theirs"}`)
		}
		for _, status = range []int{201, 503} {
			r := s.get(keyed("l" + fmt.Sprint(status)))
			isReply(t, r, 202, "theirs", "true")
			check.Equal(t, r.headers.Get("Location"), "/theirs")
		}
	})
}

// Errors of the handler reach Lambda under their own type, stored ones too.
func TestHTTPHandlerErrors(t *testing.T) {
	test := func(t *testing.T, d httpDriver) {
		inner := &idempotent.InProgressError{KeyHash: "of another call"}
		s := newSite(t, d, newExecutor(t, memory.New(0), nil), nil, func(_ context.Context, run int, _ string) (httpReply, error) {
			switch run {
			case 1:
				return httpReply{}, errors.New("broken")
			case 2:
				return httpReply{}, inner
			default:
				return httpReply{}, idempotent.Permanent(&handlertest.DeclinedError{Code: "51"})
			}
		})
		_, err := s.send(t.Context(), k)
		check.Says(t, err, "broken")
		_, err = s.send(t.Context(), k)
		check.Equal(t, err, error(inner), "an error of a call within the handler")
		_, err = s.send(t.Context(), k)
		_, ok := err.(*handlertest.DeclinedError)
		check.True(t, ok, err)
		_, err = s.send(t.Context(), k)
		e, ok := err.(messages.InvokeResponse_Error)
		check.True(t, ok)
		check.Equal(t, e.Type, "DeclinedError")
		check.Equal(t, e.Message, "declined 51")
		s.ran(3)
	}
	for _, d := range httpDrivers {
		if d.lambda { // a handler of net/http has no error to return
			t.Run(d.name, func(t *testing.T) { test(t, d) })
		}
	}
}

// For a client of net/http a stored failure, which only another program can
// have written, is a problem.
func TestMiddlewareReturnsAStoredFailure(t *testing.T) {
	store := &hooked{Store: memory.New(0)}
	s := newSite(t, httpDrivers[5], newExecutor(t, store, nil), nil, created)
	s.get(k)
	store.plant(t, func(r *driver.Record) {
		r.Status, r.Lease, r.Data = driver.Failed, time.Time{}, []byte(`{"type":"T","message":"m"}`)
	})
	isProblem(t, s.get(k), 500)
	s.ran(1)
}

// The response for a request that failed never says that it was carried out, even
// if its error cannot be read.
func TestHTTPFailureThatIsNotAvailable(t *testing.T) {
	for status, carriedOut := range map[driver.Status]bool{driver.Completed: true, driver.Failed: false} {
		forEachHTTP(t, func(t *testing.T, d httpDriver) {
			store := &hooked{Store: memory.New(0)}
			s := newSite(t, d, newExecutor(t, store, nil), nil, created)
			s.get(k)
			store.plant(t, func(r *driver.Record) {
				r.Status, r.Lease, r.Data, r.Unavailable = status, time.Time{}, nil, "it could not be sealed"
			})
			_, detail := isProblem(t, s.get(k), 500)
			check.Equal(t, strings.Contains(detail, "carried out"), carriedOut, status)
			s.ran(1)
		})
	}
}

func TestHTTPPanic(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		s := newSite(t, d, newExecutor(t, memory.New(0), nil), nil, func(ctx context.Context, run int, body string) (httpReply, error) {
			if run == 1 {
				panic("a bug")
			}
			return created(ctx, run, body)
		})
		_, err := s.send(t.Context(), k)
		if err == nil || d.lambda && !errors.Is(err, errPanicked) {
			t.Errorf("got %v", err)
		}
		r := s.get(k)
		check.Equal(t, r.status, 201)
		check.Equal(t, r.body, "run 2")
	})
}

// The client receives the handler's response, whether or not the key could be
// released.
func TestHTTPReleaseFails(t *testing.T) {
	down := fmt.Errorf("down: %w", driver.ErrUnavailable)
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		store := &hooked{Store: memory.New(0), change: func(driver.Fence, driver.Change) error { return down }}
		s := newSite(t, d, newExecutor(t, store, nil), nil, func(context.Context, int, string) (httpReply, error) {
			return httpReply{status: 502, body: "mine"}, nil
		})
		r := s.get(k)
		check.Equal(t, r.status, 502)
		check.Equal(t, r.body, "mine")
		isProblem(t, s.get(k), 409)
		s.ran(1)
	})
}

// Observers receive refusals and responses that are not stored, but no key.
func TestHTTPObserved(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		var seen []string
		x := newExecutor(t, memory.New(0), &idempotent.Config{Observer: handlertest.Observer(func(e idempotent.Event) {
			seen = append(seen, fmt.Sprintf("%s: %v", e.Outcome, e.Err))
		})})
		s := newSite(t, d, x, nil, func(context.Context, int, string) (httpReply, error) { return httpReply{status: 503}, nil })
		s.get(keyed("a secret key"))
		s.get(keyed("secret"))
		if len(seen) != 2 || !strings.HasPrefix(seen[0], "failed: idempotent: invalid key") || !strings.HasPrefix(seen[1], "released: httpapi: a response with the status 503") {
			t.Errorf("observed %q", seen)
		}
		check.False(t, leaks(strings.Join(seen, " "), "secret", "amount"))
	})
}

// A handler's nil pointer in an error does not make Once panic.
func TestTypedNilErrorOfAnHTTPHandlerIsReturned(t *testing.T) {
	for name, e := range map[string]error{"replayed": (*idempotent.ReplayedError)(nil), "store": (*idempotent.StoreError)(nil), "another": (*url.Error)(nil)} {
		unreleasable := &hooked{Store: memory.New(0), change: func(_ driver.Fence, c driver.Change) error {
			if c.Release != 0 {
				return errors.New("no permission")
			}
			return nil
		}}
		_, err := postV2(t, newExecutor(t, unreleasable, nil), httpapi.NoIdentity(), nil, v2Response{}, e)
		check.Equal(t, err, e, name)
	}
}
