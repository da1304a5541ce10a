package httpapi_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/keypath"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

const secretKey = "secret-4111"

// refusedRequests are requests that are refused after keyed(secretKey), by the
// reason and the status of each.
func refusedRequests(d httpDriver) map[string]httpCall {
	calls := map[string]httpCall{
		"missing key 400":    keyed(),
		"invalid key 400":    keyed(secretKey + ",b"),
		"unknown caller 403": keyed(secretKey).with(func(c *httpCall) { c.user = "" }),
		"mismatch 422":       keyed(secretKey).with(body(secretKey)),
	}
	if d.encodes {
		calls["unreadable 400"] = keyed(secretKey).with(encoded("not base64"))
	}
	if !d.lambda {
		calls["too large 413"] = keyed(secretKey).with(body(strings.Repeat("x", 1<<20+1)))
	}
	return calls
}

// A scope that finds nobody refuses every caller. The default logger must not keep
// silent about it, and no client may choose how many lines there are. Observers receive
// each refusal, with its reason.
func TestRefusedRequestsAreLoggedOnceForEachReason(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		var counted idempotent.Event
		s := newSite(t, d, newExecutor(t, memory.New(0), &idempotent.Config{Observer: handlertest.Observer(func(e idempotent.Event) { counted = e })}), nil, created)
		s.get(keyed(secretKey))
		check.Equal(t, counted.Refusal(), "", "the first request is refused")
		want, got := map[string]int{}, map[string]int{}
		lines := logged(t, func() {
			for name, call := range refusedRequests(d) {
				want[name] = 1
				for range 3 {
					s.get(call)
					reason := cmp.Or(string(counted.Refusal()), string(counted.Outcome))
					check.Equal(t, reason, name[:strings.LastIndex(name, " ")])
				}
			}
		})
		for _, line := range lines {
			got[fmt.Sprint(line["reason"], " ", line["status"])]++
			isLine(t, line, map[string]any{"level": "WARN", "operation": "create-payment", "unlogged": 0.})
			check.Differ(t, line["scope"], any(""))
		}
		check.True(t, maps.Equal(got, want))
		check.Lacks(t, string(handlertest.Marshal(t, lines)), secretKey, "the lines quote the requests")
	})
}

// A reason has at most one line a minute, which says how many requests had none. A
// second handler of the process has lines of its own.
func TestRefusedRequestsAreLoggedAtMostOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExecutor(t, memory.New(0), nil)
		protect := func() func() {
			s := newSite(t, httpDrivers[0], x, nil, created)
			return func() { isProblem(t, s.get(httpCall{headers: keyed(secretKey).headers}), 403) }
		}
		one, two := protect(), protect()
		var unlogged []any
		for _, line := range logged(t, func() {
			var requests sync.WaitGroup
			for range 100 {
				requests.Go(one)
			}
			requests.Wait()
			time.Sleep(time.Minute - 1)
			one() // the 101st
			time.Sleep(time.Nanosecond)
			one() // with a line
			one()
			time.Sleep(time.Hour)
			one()
			two()
		}) {
			unlogged = append(unlogged, line["unlogged"])
		}
		check.Equal(t, fmt.Sprint(unlogged), "[0 100 1 0]")
	})
}

// A request that waits for its duplicate, and one that a function of the program
// refuses, are refused too. One that fails in the handler is not.
func TestRefusalsOfOthersAreLogged(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		teapot := &httpapi.StatusError{Status: 418, Detail: secretKey, Err: errors.New(secretKey)}
		rejecting := newSite(t, d, newExecutor(t, memory.New(0), nil), &httpapi.Options{
			Key: func(httpapi.Request) (idempotent.Key, error) { return idempotent.Key{}, teapot },
		}, created)
		failing := newSite(t, d, newExecutor(t, memory.New(0), nil), nil, func(context.Context, int, string) (httpReply, error) {
			return httpReply{status: 400}, nil
		})
		var running *site
		running = newSite(t, d, newExecutor(t, memory.New(0), nil), nil, func(_ context.Context, run int, _ string) (httpReply, error) {
			isProblem(t, running.get(keyed(secretKey)), 409)
			return httpReply{status: 201}, nil
		})
		lines := logged(t, func() {
			rejecting.get(keyed(secretKey))
			failing.get(keyed(secretKey))
			running.get(keyed(secretKey))
		})
		check.Equal(t, len(lines), 2)
		isLine(t, lines[0], map[string]any{"reason": "rejected", "status": 418.})
		isLine(t, lines[1], map[string]any{"reason": "conflict", "status": 409.})
		check.Lacks(t, string(handlertest.Marshal(t, lines)), secretKey, "the lines quote the requests")
	})
}

// A client that sends a form to a webhook that takes its key from JSON learns where
// the key was looked for.
func TestProblemSaysWhereAKeyWasLookedFor(t *testing.T) {
	for says, key := range map[string]func(httpapi.Request) (idempotent.Key, error){
		"from body.id of the request":                                            keypath.Path[httpapi.Request]("body.id"),
		"the arguments of join have the wrong type or value: join(',', body.i).": keypath.Path[httpapi.Request]("join(',', body.i)"),
		`from headers."X-Id"[0] of the request`:                                  keypath.Path[httpapi.Request](`headers."X-Id"[0]`),
		"from the header X-Body-Id of the request":                               httpapi.HeaderKey("x-body-id"),
	} {
		forEachHTTP(t, func(t *testing.T, d httpDriver) {
			s := newSite(t, d, newExecutor(t, memory.New(0), nil), &httpapi.Options{Key: key}, created)
			_, detail := isProblem(t, s.get(webhook("id="+secretKey)), 400)
			check.Contains(t, detail, says)
			check.Lacks(t, detail, secretKey, says)
		})
	}
}
