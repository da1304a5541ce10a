package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/providers"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// A trial is one order, whose client calls once and goes away.
type trial struct {
	*testing.T
	world
	order    order
	services *providers.Providers
	url      string // of the services
}

func newTrial(t *testing.T, w func(*testing.T) world, card string) *trial {
	t.Helper()
	one := &trial{T: t, world: w(t), order: theOrder("o-1"), services: providers.New()}
	one.order.Card = card
	server := httptest.NewServer(one.services)
	t.Cleanup(server.Close)
	one.url = server.URL
	return one
}

// A kill is a call at which a process is killed. The zero value kills none.
type kill struct {
	lambdaruntime.Call
	at lambdaruntime.Point
}

// invoke invokes a function once, in a process of its own, and reports whether that was
// killed.
func (t *trial) invoke(role string, event any, k kill) (answer lambdaruntime.Response, wire *lambdaruntime.Wire, killed bool) {
	t.Helper()
	wire = lambdaruntime.NewWire()
	store, err := wire.To("store", t.world.url)
	check.Must(t.T, err)
	services, err := wire.To("services", t.url)
	check.Must(t.T, err)
	wire.KillAt(k.Number, k.at)
	binary, err := os.Executable()
	check.Must(t.T, err)
	function, err := lambdaruntime.Start(t.Context(), lambdaruntime.Function{
		// No lease lapses by itself, however slow the machine is.
		Name: role, Binary: binary, Timeout: time.Minute, InitTimeout: time.Minute, Wire: wire,
		Env: append(slices.Clip(t.env), roleVariable+"="+role, t.server+"="+store, "PROVIDER_URL="+services),
	})
	check.Must(t.T, err)
	payload, err := json.Marshal(event)
	check.Must(t.T, err)
	answer, err = function.Invoke(t.Context(), payload)
	check.Nil(t.T, errors.Join(function.Close(), wire.Close()))
	if _, killed = wire.Struck(); !killed {
		check.Must(t.T, err)
	}
	return answer, wire, killed
}

// record returns the record of the order.
func (t *trial) record() (r driver.Record) {
	t.Helper()
	for after := ""; ; {
		page, err := t.Scan(t.Context(), driver.Filter{}, after)
		check.Must(t.T, err)
		for _, e := range page.Entries {
			check.True(t.T, r.ID == "" || r.ID == e.ID, "two records")
			r = e.Record
		}
		if after = page.Next; after == "" {
			return r
		}
	}
}

// lapse ends the lease of the dead, so that no test waits for it: an attempt that died long
// ago takes over.
func (t *trial) lapse() {
	t.Helper()
	if r := t.record(); r.Owner != "" && r.Status == driver.InProgress {
		_, ok, err := t.Change(t.Context(), driver.Fence{ID: r.ID, Owner: r.Owner, Attempt: r.Attempt, Lease: r.Lease},
			driver.Change{Owner: "dead", Lease: time.Now().Add(-time.Minute), Expires: r.Expires})
		check.Nil(t.T, err)
		check.True(t.T, ok, r.ID)
	}
}

// resume lets the resumer run once in each of several processes at once.
func (t *trial) resume(kills ...kill) {
	t.Helper()
	var round sync.WaitGroup
	for _, k := range kills {
		round.Go(func() {
			answer, _, killed := t.invoke(resumer, handlers.ResumeEvent{}, k)
			if killed {
				return
			}
			check.True(t.T, answer.FunctionError == nil, answer.FunctionError)
			var report handlers.ResumeReport
			check.Nil(t.T, json.Unmarshal(answer.Payload, &report))
			check.Equal(t.T, report.Failed+report.Waiting+report.Left, 0, string(answer.Payload))
			check.True(t.T, report.Complete)
		})
	}
	round.Wait()
}

// judge requires that the saga is finished or undone, with each effect once, or has not
// begun.
func (t *trial) judge(begun bool) {
	t.Helper()
	status, want, placed := driver.Completed, []string{"/reservations", "/charges"}, 1
	switch {
	case !begun:
		status, want, placed = driver.Absent, nil, 0
	case t.order.Card == providers.Declined:
		status, want, placed = driver.Failed, []string{"/reservations", "/releases"}, 0
	}
	var done []string
	for _, e := range t.services.Effects() {
		done = append(done, e.Path)
	}
	check.Slice(t.T, done, want)
	r := t.record()
	check.Equal(t.T, r.Status, status)
	check.Equal(t.T, len(r.Request), 0, "the request is left")
	for _, n := range t.placed() {
		check.Equal(t.T, n, placed, "orders, or messages")
	}
}

// The function is killed before and after each of its calls, and its client never repeats
// the request. Two resumers meet, one of which is killed as well, each time somewhere else.
// After a second round all is done once, or undone.
func TestAbandonedOrdersAreFinishedOrUndone(t *testing.T) {
	var running sync.WaitGroup
	defer running.Wait()
	slots := make(chan struct{}, 6)
	for name, w := range worlds {
		for _, card := range []string{"card_1", providers.Declined} {
			newTrial(t, w, card).undisturbed() // sends the scripts to Redis
			calls := newTrial(t, w, card).undisturbed()
			// The number of the call before the first one to a service.
			claim := slices.IndexFunc(calls, func(c lambdaruntime.Call) bool { return c.Server == "services" })
			for _, call := range calls[1 : len(calls)-1] { // the others ask for an event
				for _, at := range []lambdaruntime.Point{lambdaruntime.Before, lambdaruntime.After} {
					begun := call.Number > claim || call.Number == claim && at == lambdaruntime.After
					// The fourth call of a resumer is about its first one to the record.
					second := 4 + (call.Number*5+int(at))%(len(calls)-call.Number+2)
					// Not by t.Parallel, which bounds by processors what waits for processes.
					running.Go(func() {
						slots <- struct{}{}
						defer func() { <-slots }()
						t.Run(fmt.Sprintf("%s, %s, %v %d of %d, %s %s", name, card, at, call.Number, len(calls), call.Server, call.Operation), func(t *testing.T) {
							newTrial(t, w, card).abandoned(kill{call, at}, second, begun)
						})
					})
				}
			}
		}
	}
}

// undisturbed returns the calls of a process that nobody kills.
func (t *trial) undisturbed() []lambdaruntime.Call {
	t.Helper()
	_, wire, _ := t.invoke(api, sent(t.order), kill{})
	t.judge(true)
	return wire.Calls()
}

// abandoned plays an order whose process is killed, and a resumer at its call of that number.
func (t *trial) abandoned(first kill, second int, begun bool) {
	_, wire, _ := t.invoke(api, sent(t.order), first)
	struck, _ := wire.Struck()
	check.Equal(t.T, struck, first.Call)
	t.lapse()
	t.resume(kill{}, kill{lambdaruntime.Call{Number: second}, first.at})
	t.lapse()
	t.resume(kill{})
	t.judge(begun)
	// A client that comes back receives the answer, and nothing happens again.
	answer, _, _ := t.invoke(api, sent(t.order), kill{})
	if t.order.Card == providers.Declined {
		check.True(t.T, answer.FunctionError != nil, string(answer.Payload))
		check.Equal(t.T, deployed.Failure(answer.FunctionError), "CardDeclinedError")
	} else {
		check.Contains(t.T, string(answer.Payload), "reservations-1")
	}
	t.judge(true)
}
