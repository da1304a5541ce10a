package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// A request that is resumed has the key of its first run, or does not run.
func TestRequestWithAnotherKeyTodayIsLeft(t *testing.T) {
	suffix := ""
	byBody := &httpapi.Options{Resume: savingUser(), Key: func(r httpapi.Request) (idempotent.Key, error) {
		return idempotent.Key{ID: string(r.Body) + suffix}, nil
	}}
	forEachResumable(t, byBody, func(t *testing.T, d *deserted) {
		suffix = ""
		d.desert(payment())
		suffix = " today"
		check.Contains(t, d.left(), "is another one today")
		suffix = ""
		check.Equal(t, d.resume(), resumed(1))
		check.Equal(t, len(d.seen), 2)
	})
}

// The scope of a key is that of the first request: nobody has authenticated the stored one.
// What is protected today does not matter either, as the request has a record.
func TestResumedRequestIsProtectedAsTheFirstWas(t *testing.T) {
	forEachResumable(t, nil, func(t *testing.T, d *deserted) {
		d.desert(payment(func(c *httpCall) { c.method = http.MethodPut }))
		refusing := httpapi.ScopeFunc(func(context.Context, httpapi.Caller) (string, error) {
			t.Error("the scope is computed again")
			return "", nil
		})
		d.resumable = d.kind.resumable(t, d.x, refusing, &httpapi.Options{Resume: savingUser(), Methods: []string{"POST"}})
		check.Equal(t, d.resume(), resumed(1))
		check.Equal(t, len(d.seen), 1)
		check.Equal(t, d.events[len(d.events)-1].Outcome, idempotent.OutcomeTakeover)
	})
}

// A stored request without the key runs nothing, even if the executor lets others run
// without one.
func TestStoredRequestWithoutAKeyDoesNotRun(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, kind httpDriver) {
		d := newDeserted(t, kind, &httpapi.Options{Resume: savingUser()}, idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
		d.desert(payment())
		d.resumable = kind.resumable(t, d.x, kind.scope(), &httpapi.Options{Resume: savingUser(), Header: "X-Key"})
		check.Contains(t, d.left(), "is another one today")
		check.Equal(t, len(d.seen), 0)
	})
}

// A key that is read from headers needs them.
func TestKeyThatIsNotStoredFailsTheFirstRequest(t *testing.T) {
	for _, test := range []struct {
		headers []string
		runs    int
	}{{nil, 0}, {[]string{"x-github-delivery"}, 2}} {
		own := savingUser()
		own.Headers = test.headers
		forEachResumable(t, &httpapi.Options{Resume: own, Key: httpapi.HeaderKey("X-GitHub-Delivery")}, func(t *testing.T, d *deserted) {
			c := payment(func(c *httpCall) { c.headers = append(c.headers, [2]string{"X-GitHub-Delivery", "72d3162e"}) })
			r, err := d.send(t.Context(), c)
			last := d.events[len(d.events)-1]
			if test.runs == 0 {
				check.True(t, err != nil || r.status == 500, r, err)
				check.Contains(t, last.Err.Error(), "ResumeOptions.Headers")
				check.Equal(t, last.Outcome, idempotent.OutcomeFailed)
				check.Equal(t, last.Refusal(), "")
			} else {
				d.store.plant(t, func(r *driver.Record) { r.Lease = time.UnixMilli(1) })
				check.Equal(t, d.resume(), resumed(1))
			}
			check.Equal(t, len(d.seen), test.runs)
		})
	}
}

var errPrincipal = errors.New("no principal")

// Without the caller, a later run would be one of nobody: so there is no first one.
func TestSaveThatFailsRunsNothing(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		status int
	}{"error": {errPrincipal, 500}, "status": {&httpapi.StatusError{Status: 401, Title: "who are you"}, 401}} {
		t.Run(name, func(t *testing.T) {
			own := savingUser()
			own.Save = func(context.Context, httpapi.Caller) (string, error) { return "", test.err }
			forEachResumable(t, &httpapi.Options{Resume: own}, func(t *testing.T, d *deserted) {
				r, err := d.send(t.Context(), payment())
				if err == nil {
					check.Equal(t, r.status, test.status)
				} else {
					check.Equal(t, test.status, 500, err)
				}
				last := d.events[len(d.events)-1]
				check.Is(t, last.Err, test.err)
				check.Differ(t, last.Refusal(), idempotent.RefusalUnreadable)
				check.Equal(t, len(d.seen), 0)
				check.Equal(t, d.resume(), resumed(0)) // there is no record
			})
		})
	}
}

// Nothing runs for a caller that is not restored, and the record stays.
func TestRestoreThatFailsLeavesTheRecord(t *testing.T) {
	own, fails := savingUser(), true
	restore := own.Restore
	own.Restore = func(ctx context.Context, saved string) (context.Context, error) {
		if fails {
			return nil, errPrincipal
		}
		return restore(ctx, saved)
	}
	forEachResumable(t, &httpapi.Options{Resume: own}, func(t *testing.T, d *deserted) {
		fails = true
		d.desert(payment())
		before := len(d.events)
		text := d.left()
		check.Contains(t, text, "ResumeOptions.Restore returned an error")
		check.Lacks(t, text, "no principal")
		check.Equal(t, len(d.events), before)
		fails = false
		check.Equal(t, d.resume(), resumed(1))
		check.Equal(t, len(d.seen), 2)
	})
}
