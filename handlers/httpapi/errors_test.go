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
		var s *site
		s = newSite(t, d, newExecutor(t, memory.New(0), nil), nil, func(ctx context.Context, run int, text string) (httpReply, error) {
			duplicate := s.get(k)
			title, _ := isProblem(t, duplicate, 409)
			check.Equal(t, title, "Conflict")
			// The lease is a minute: the hint is not.
			check.Equal(t, duplicate.headers.Get("Retry-After"), "2")
			isProblem(t, s.get(k.with(body("{}"))), 422)
			return created(ctx, run, text)
		})
		for _, mark := range []string{"", "true"} {
			isReply(t, s.get(k), 201, "run 1", mark)
		}
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
		// Another program stores none. The second request meets it.
		taken = func(r *driver.Record) { r.Lease = time.Time{} }
		for range 2 {
			r := s.get(keyed("m"))
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
		s := newSite(t, d, newExecutor(t, memory.New(0), nil), nil, func(_ context.Context, run int, _ string) (httpReply, error) {
			if run == 1 {
				return httpReply{}, errors.New("broken")
			}
			return httpReply{}, idempotent.Permanent(&handlertest.DeclinedError{Code: "51"})
		})
		_, err := s.send(t.Context(), k)
		check.Says(t, err, "broken")
		_, err = s.send(t.Context(), k)
		_, ok := err.(*handlertest.DeclinedError)
		check.True(t, ok, err)
		_, err = s.send(t.Context(), k)
		e, ok := err.(messages.InvokeResponse_Error)
		check.True(t, ok)
		check.Equal(t, e.Type, "DeclinedError")
		check.Equal(t, e.Message, "declined 51")
		s.ran(2)
	}
	for _, d := range httpDrivers {
		if d.lambda { // a handler of net/http has no error to return
			t.Run(d.name, func(t *testing.T) { test(t, d) })
		}
	}
}

// An error of a call within the handler says nothing of this call, and one of this
// package is no response. A nil pointer in an error does not make Once panic.
func TestErrorOfAnHTTPHandlerIsItsOwn(t *testing.T) {
	for name, e := range map[string]error{
		"another call's conflict": &idempotent.InProgressError{RecordID: "secret"},
		"another call's late key": &idempotent.KeyExpiredError{RecordID: "secret"},
		"another call's undoing":  &idempotent.CompensationError{Step: "of another call", Err: errors.New("secret")},
		"no response":             &httpapi.UnstoredError{Status: 500},
		"replayed, nil":           (*idempotent.ReplayedError)(nil),
		"of the store, nil":       (*idempotent.StoreError)(nil),
		"another, nil":            (*url.Error)(nil),
	} {
		forEachHTTP(t, func(t *testing.T, d httpDriver) {
			unreleasable := &hooked{Store: memory.New(0), change: func(driver.Fence, driver.Change) error { return errors.New("no permission") }}
			s := newSite(t, d, newExecutor(t, unreleasable, nil), nil, func(context.Context, int, string) (httpReply, error) {
				return httpReply{}, e
			})
			r, err := s.send(t.Context(), k)
			if d.lambda {
				check.Equal(t, err, e, name)
				return
			}
			isProblem(t, r, 500)
			check.Lacks(t, r.body, "secret", name)
		})
	}
}

// What another program has stored is a response only if it has the form of one. A
// request that failed is never said to be carried out, even if its error cannot be read.
func TestRecordOfAnotherProgram(t *testing.T) {
	// It had no room for the message, and has the status.
	shortened, err := (&idempotent.ReplayedError{Type: "StatusError", Message: declinedProblem[:40], Code: "http-402"}).Encode()
	check.Must(t, err)
	type planted struct {
		status            driver.Status
		data, unavailable string
		want              string // a part of the response
	}
	all := []planted{
		{driver.Failed, `{"type":"T","message":"m"}`, "", "The request failed."},
		{driver.Failed, "", "it could not be sealed", "failed permanently, and its response is not available."},
		{driver.Failed, "", driver.Redacted, "failed permanently, and its response has been deleted."},
		{driver.Completed, "", "it could not be sealed", "carried out, but its response is not available."},
		{driver.Completed, "", driver.Redacted, "carried out, but its response has been deleted."},
		{driver.Failed, string(shortened), "", `{"type":"about:blank","title":"Payment Required","status":402}`},
	}
	for _, data := range []string{`{"statusCode":201,"body":"{}"}`, `{"id":"p1"}`, `null`, `{"status":99}`, `{"status":150}`, `{"status":600}`, `[]`} {
		all = append(all, planted{driver.Completed, data, "", "carried out, but its response is not available."})
	}
	for _, p := range all {
		forEachHTTP(t, func(t *testing.T, d httpDriver) {
			store := &hooked{Store: memory.New(0)}
			s := newSite(t, d, newExecutor(t, store, nil), nil, created)
			s.get(k)
			store.plant(t, func(r *driver.Record) {
				r.Status, r.Lease, r.Data, r.Unavailable = p.status, time.Time{}, []byte(p.data), p.unavailable
			})
			r, err := s.send(t.Context(), k)
			s.ran(1)
			switch {
			case strings.Contains(p.want, "402"):
				check.Equal(t, r.status, 402)
				check.Equal(t, r.body, p.want)
			case d.lambda && strings.Contains(p.data, "message"):
				check.As[messages.InvokeResponse_Error](t, err) // a client of net/http gets a problem
			default:
				_, detail := isProblem(t, r, 500)
				check.Contains(t, detail, p.want, p)
			}
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
		isReply(t, s.get(k), 201, "run 2", "")
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
		isReply(t, s.get(k), 502, "mine", "")
		isProblem(t, s.get(k), 409)
		s.ran(1)
	})
}
