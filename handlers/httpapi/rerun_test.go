package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// transactional is a store that takes transactions, of which no test here
// makes one.
type transactional struct{ *hooked }

func (transactional) Commit(context.Context, string, any) error { return nil }

// crashed leaves the record of a crashed attempt where the first record is
// about to be created.
func crashed(t testing.TB) transactional {
	store := transactional{&hooked{Store: memory.New(0)}}
	var once sync.Once
	store.create = func(r driver.Record) error {
		once.Do(func() {
			now := time.Now()
			check.Nil(t, store.Put(driver.Record{
				ID: r.ID, Status: driver.InProgress, Owner: "crashed", Attempt: 1, Fingerprint: r.Fingerprint,
				Lease: now.Add(-time.Hour).Truncate(time.Millisecond), Expires: now.Add(time.Hour).Truncate(time.Second),
			}))
		})
		return nil
	}
	return store
}

// A handler may run twice in one call: without a claim, and again under one,
// if the first run met a record. The response is the second run's alone.
func TestSecondRunInACallRespondsAlone(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		s := newSite(t, d, newExecutor(t, crashed(t), &idempotent.Config{Optimistic: true}), nil, func(_ context.Context, run int, _ string) (httpReply, error) {
			header := http.Header{"Content-Type": {"application/json"}, "Location": {fmt.Sprint("/runs/", run)}}
			if run == 1 {
				header.Set("Link", "<of the first run>")
			}
			return httpReply{200 + run, header, fmt.Sprintf(`{"run":%d}`, run)}, nil
		})
		for _, mark := range []string{"", "true"} {
			r := s.get(k)
			isReply(t, r, 202, `{"run":2}`, mark)
			check.Equal(t, r.headers.Get("Location"), "/runs/2")
			check.Equal(t, r.headers.Get("Link"), "")
		}
		s.ran(3) // a repetition runs in vain, as it has no claim either
	})
}

// What the first run has made of its request, the second does not see.
func TestSecondRunInACallGetsTheRequestAnew(t *testing.T) {
	var bodies []string
	x := newExecutor(t, crashed(t), &idempotent.Config{Optimistic: true})
	protected, _ := serveHTTP(t, x, nil, func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, 10)
		n, _ := r.Body.Read(body)
		bodies = append(bodies, string(body[:n])+r.Header.Get("X-Seen")+r.URL.RawQuery)
		r.Header.Set("X-Seen", "yes")
		r.URL.RawQuery = "seen"
	})
	_, err := post(t, protected, "k", "body")
	check.Must(t, err)
	check.Slice(t, bodies, []string{"bodyq=1", "bodyq=1"})
}

// The first run's error says nothing of the second.
func TestSecondRunInACallForgetsTheFirstError(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		if !d.lambda {
			return // its handlers have no error to return
		}
		store := crashed(t)
		store.change = func(_ driver.Fence, c driver.Change) error {
			if c.Status != "" { // of the second run: the first has no claim
				return driver.ErrUnavailable
			}
			return nil
		}
		s := newSite(t, d, newExecutor(t, store, &idempotent.Config{Optimistic: true, Lease: 20 * time.Millisecond, Reserve: time.Millisecond}), nil, func(_ context.Context, run int, _ string) (httpReply, error) {
			if run == 1 {
				return httpReply{}, idempotent.Permanent(&handlertest.DeclinedError{Code: "51"})
			}
			return httpReply{status: 201}, nil
		})
		isProblem(t, s.get(k), 503)
		s.ran(2)
	})
}

// Lambda runs several invocations in one process. Eight at a time, each key
// three times: every handler runs once a key, and no response is another's.
func TestHTTPConcurrentInvocations(t *testing.T) {
	const keys, copies, atOnce = 40, 3, 8
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		for name, config := range map[string]*idempotent.Config{
			"refused": nil, "waiting": {Wait: time.Minute}, "cached": {Wait: time.Minute, CacheEntries: 10},
		} {
			t.Run(name, func(t *testing.T) {
				var ran sync.Map
				s := newSite(t, d, newExecutor(t, memory.New(0), config), nil, func(_ context.Context, _ int, body string) (httpReply, error) {
					_, twice := ran.LoadOrStore(body, true)
					check.False(t, twice, "ran twice")
					return httpReply{201, http.Header{"Location": {"/" + body}, "Set-Cookie": {"a=1"}}, body}, nil
				})
				calls := make(chan int)
				var group sync.WaitGroup
				for range atOnce {
					group.Go(func() {
						for i := range calls {
							text := fmt.Sprint("request ", i%keys)
							r, err := s.send(context.Background(), keyed(fmt.Sprint("key-", i%keys)).with(body(text)))
							switch {
							case err != nil:
								t.Error(err)
							case r.status == 409 && config == nil:
							case r.status != 201 || r.body != text || r.headers.Get("Location") != "/"+text:
								t.Errorf("%s got %+v", text, r)
							case (r.headers.Get("Idempotent-Replayed") == "") == (r.headers.Get("Set-Cookie") == ""):
								t.Errorf("%s is neither the first answer nor a repetition: %v", text, r.headers)
							}
						}
					})
				}
				for i := range keys * copies {
					calls <- i / copies // copies come one after the other
				}
				close(calls)
				group.Wait()
				s.ran(keys)
			})
		}
	})
}
