package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// The policy allows the calls of the function, in all cases of a message, and no more.
// infra compares this policy with that of the CDK app.
func TestPolicyAllowsWhatTheFunctionCalls(t *testing.T) {
	seen := newTap(t)
	var called []string
	functions := map[string]func(f function){
		"ORDERS_DELAY=0s": func(f function) { // new, delivered again, alone, alone again, and while it runs
			for _, batch := range [][]message{orders(0, 10), orders(0, 10), orders(10, 11), orders(10, 11)} {
				if got, err := deliver(t.Context(), f, batch...); err != nil || got != allPlaced {
					t.Errorf("%s, %v", got, err)
				}
			}
			f.deliverWhileItRuns(t, seen, orders(11, 12)[0])
			check.Equal(t, len(f.executions(t)), 12, "executions")
		},
		"ORDERS_TABLE=nowhere": func(f function) { // so that every handler fails
			for _, batch := range [][]message{orders(0, 10), orders(0, 1)} {
				if got, err := deliver(t.Context(), f, batch...); err != nil || strings.Count(got, "itemIdentifier") != len(batch) {
					t.Errorf("%s, %v", got, err)
				}
			}
		},
	}
	for env, use := range functions {
		f := deploy(t, time.Minute, "AWS_ENDPOINT_URL_DYNAMODB="+seen.URL(), env)
		use(f)
		for _, r := range seen.about(f.records) {
			called = append(called, actions(r)...)
		}
	}
	slices.Sort(called)
	called = slices.Compact(called)
	check.Slice(t, called, policy(t), "the calls of the function, and its policy")
}

// deliverWhileItRuns delivers an order whose effect is not answered until a duplicate of it
// waits for its result.
func (f function) deliverWhileItRuns(t *testing.T, seen *tap, m message) {
	t.Helper()
	placed, waits, answers := make(chan struct{}), make(chan struct{}), make(chan string, 2)
	read := sync.OnceFunc(func() { close(waits) })
	seen.respondAfter(func(r *wire.Request) {
		switch {
		case r.Operation == "PutItem" && isAbout(r, f.orders):
			close(placed)
			<-waits
		case r.Operation == "GetItem":
			read()
		}
	})
	send := func(environment int) {
		answer, err := deliver(t.Context(), f.Environment(environment), m)
		check.Nil(t, err)
		answers <- answer
	}
	go send(0)
	select {
	case <-placed:
	case answer := <-answers:
		t.Fatal("it is not placed: ", answer)
	}
	send(1)
	for range 2 {
		check.Equal(t, <-answers, allPlaced)
	}
}

// policy returns the sorted actions on the records that template.yaml allows the
// function.
func policy(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../template.yaml")
	check.Must(t, err)
	_, function, _ := strings.Cut(string(text), "\n  OrdersFunction:\n")
	m := regexp.MustCompile(`Action:[^[]*\[([^]]*)\]\s+Resource: !GetAtt Idempotency\.Arn`).FindStringSubmatch(function)
	if m == nil {
		t.Fatal("template.yaml allows OrdersFunction nothing")
	}
	actions := strings.Fields(strings.ReplaceAll(m[1], ",", " "))
	slices.Sort(actions)
	return actions
}

// The process is killed right after an order. The completions of the orders before
// it may still wait for each other.
func TestKilledBatchPlacesNoMoreThanUnrecordedAgain(t *testing.T) {
	const size, unrecorded = 20, 10
	for _, last := range []int64{1, 5, 10, 11, 15, 20} {
		t.Run(fmt.Sprint("after order ", last), func(t *testing.T) {
			t.Parallel()
			seen := newTap(t)
			f := deploy(t, 6*time.Second, "AWS_ENDPOINT_URL_DYNAMODB="+seen.URL())
			var placed atomic.Int64
			seen.respondAfter(func(r *wire.Request) {
				if r.Operation == "PutItem" && isAbout(r, f.orders) && placed.Add(1) == last {
					check.Nil(t, f.Environment(0).Kill())
				}
			})
			left := orders(0, size)
			if answer, err := deliver(t.Context(), f.Environment(0), left...); err == nil {
				t.Errorf("the killed process answers %s", answer)
			}
			for range 10 {
				answer, err := deliver(t.Context(), f.Environment(1), left...)
				check.Must(t, err)
				left = slices.DeleteFunc(left, func(m message) bool { return !strings.Contains(answer, `"`+m[0]+`"`) })
				if len(left) == 0 {
					break
				}
			}
			times := map[string]int{}
			for _, e := range f.executions(t) {
				times[e.OrderID]++
			}
			again := 0
			for _, n := range times {
				again += n - 1
			}
			t.Logf("placed again: %d", again)
			if len(times) != size || again > unrecorded {
				t.Errorf("%d orders are placed, %d of them again", len(times), again)
			}
		})
	}
}
