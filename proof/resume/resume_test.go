package resume

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/providers"
	"github.com/lambda-once/once/local/lambdaruntime"
)

const (
	timeout = 3 * time.Second
	skew    = 100 * time.Millisecond // of the program
	// lapse is when the lease of a process that has just died has lapsed, by every clock.
	lapse = timeout + 2*skew + 50*time.Millisecond
)

// A kill is the call at which a process is killed, or "".
type kill string

// A trial is one order, whose client calls once and never comes back.
type trial struct {
	*testing.T
	world
	services *providers.Providers
	env      []string
	declined bool

	mu sync.Mutex
	// disturbed is why the trial says nothing: a busy machine adds timeouts, which are
	// crashes at other points.
	disturbed error
}

func (t *trial) disturb(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.disturbed = cmp.Or(t.disturbed, err)
}

// world is a store with the tables of one trial.
type world struct {
	env []string
	// orders returns the orders that were stored, or -1 where no transaction stores them.
	orders func() int
}

// start starts a function that is killed at a call.
func (t *trial) start(role string, at kill, env ...string) *lambdaruntime.Runtime {
	t.Helper()
	env = append(append(env, "ROLE="+role, "KILL="+string(at)), t.env...)
	return lambdaruntime.StartTest(t.T, lambdaruntime.Function{Binary: shop, Env: append(env, t.world.env...), Timeout: timeout, InitTimeout: time.Minute})
}

// request returns the client's request.
func (t *trial) request() []byte {
	card := "card_1"
	if t.declined {
		card = providers.Declined
	}
	e := events.APIGatewayV2HTTPRequest{RawPath: "/orders", Headers: map[string]string{"idempotency-key": "o-17", "authorization": "secret", "content-type": "application/json"},
		Body: fmt.Sprintf(`{"sku":"cup","card":%q}`, card)}
	e.RequestContext.HTTP.Method = "POST"
	e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"sub": "c-1"}}}
	data, err := json.Marshal(e)
	check.Must(t.T, err)
	return data
}

// call makes the client's call, and reports whether the process has died.
func (t *trial) call(at kill, env ...string) (answer []byte, died bool) {
	t.Helper()
	res, err := t.start("api", at, env...).Invoke(t.Context(), t.request())
	if died = isCrash(err) && at != ""; !died {
		t.disturb(err)
	}
	if res.FunctionError != nil {
		return []byte(res.FunctionError.Type), died
	}
	return res.Payload, died
}

func isCrash(err error) bool {
	var crashed *lambdaruntime.CrashedError
	return errors.As(err, &crashed)
}

// schedule runs the resumer once in each of several processes at once.
func (t *trial) schedule(at ...kill) (all []handlers.ResumeReport) {
	t.Helper()
	var running sync.WaitGroup
	for _, at := range at {
		f := t.start("resume", at)
		running.Go(func() {
			res, err := f.Invoke(context.WithoutCancel(t.Context()), []byte(`{}`))
			switch {
			case isCrash(err) && at != "":
				return
			case err != nil:
				t.disturb(err)
				return
			case res.FunctionError != nil:
				t.Error(res.FunctionError)
				return
			}
			var report handlers.ResumeReport
			check.Nil(t.T, json.Unmarshal(res.Payload, &report))
			t.mu.Lock()
			defer t.mu.Unlock()
			all = append(all, report)
		})
	}
	running.Wait()
	return all
}

// wait waits until a lease that begins no later than now has lapsed: nothing tells.
func (t *trial) wait() {
	timer := time.NewTimer(lapse)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// judge checks that the saga is finished or undone, and each effect there once.
func (t *trial) judge(begun bool) {
	t.Helper()
	want := map[string]int{"/reservations": 1, "/charges": 1}
	orders := 1
	if t.declined {
		want, orders = map[string]int{"/reservations": 1, "/releases": 1}, 0
	}
	if !begun {
		want, orders = map[string]int{}, 0
	}
	did := map[string]int{}
	for _, e := range t.services.Effects() {
		did[e.Path]++
	}
	check.Deep(t.T, did, want)
	if n := t.orders(); n >= 0 {
		check.Equal(t.T, n, orders, "orders")
	}
}

func newTrial(t *testing.T, w func(*testing.T) world, declined bool) *trial {
	services := providers.New()
	server := httptest.NewServer(services)
	t.Cleanup(server.Close)
	return &trial{T: t, world: w(t), services: services, env: []string{"PROVIDER_URL=" + server.URL}, declined: declined}
}

// calls returns the number of calls of an undisturbed process, which two agree on: a busy
// machine may repeat one.
func calls(t *testing.T, w func(*testing.T) world, declined bool) (all int) {
	for range 5 {
		before := all
		undisturbed(t, w, declined, func(calm *trial) {
			counted := filepath.Join(t.TempDir(), "calls")
			if calm.call("", "CALLS="+counted); calm.disturbed != nil {
				return
			}
			calm.judge(true)
			made, err := os.ReadFile(counted)
			check.Must(t, err)
			all = len(made)
		})
		if all == before {
			return all
		}
	}
	t.Error("no two processes made as many calls")
	return 0
}

// undisturbed plays a trial until the machine does not disturb it.
func undisturbed(t *testing.T, w func(*testing.T) world, declined bool, play func(*trial)) {
	for range 5 {
		one := newTrial(t, w, declined)
		if play(one); one.disturbed == nil {
			return
		}
		t.Log("disturbed, and played again:", one.disturbed)
	}
	t.Error("disturbed five times")
}

// A process dies at any of its calls, and its client never repeats the request. Two resumers
// meet, one of which dies, too. After a second round all is done once, or undone.
func TestAbandonedSagaIsFinishedOrUndone(t *testing.T) {
	var running sync.WaitGroup
	defer running.Wait()
	for name, w := range worlds {
		for _, declined := range []bool{false, true} {
			all := calls(t, w, declined)
			for number := 1; number <= all; number++ {
				for _, when := range []string{"before", "after"} {
					// Not by t.Parallel, which bounds by processors what waits for leases.
					running.Go(func() {
						slots <- struct{}{}
						defer func() { <-slots }()
						t.Run(fmt.Sprintf("%s, declined %v, %s call %d of %d", name, declined, when, number, all), func(t *testing.T) {
							undisturbed(t, w, declined, func(one *trial) { one.abandoned(when, number, all) })
						})
					})
				}
			}
		}
	}
}

// slots bounds how many trials run at once. Most wait for a lease most of the time.
var slots = make(chan struct{}, 16)

func (t *trial) abandoned(when string, number, all int) {
	if _, died := t.call(kill(fmt.Sprint(when, " ", number))); !died {
		t.disturb(errors.New("the process survived"))
		return
	}
	t.wait()
	// The resumer that dies makes other calls than the first process: two to find the record.
	t.schedule("", kill(fmt.Sprint(when, " ", (number*5)%(all+2)+1)))
	t.wait()
	reports := t.schedule("")
	if t.disturbed != nil {
		return
	}
	for _, r := range reports {
		check.Equal(t.T, r.Failed+r.Waiting+r.Left, 0, r)
		check.True(t.T, r.Complete)
	}
	t.judge(number > 1 || when == "after") // the first call is the claim
	// A client that comes back receives the answer, and nothing happens again.
	answer, _ := t.call("")
	if t.disturbed != nil {
		return
	}
	want := "reservations-1 of c-1"
	if t.declined {
		want = "declinedError"
	}
	check.Contains(t.T, string(answer), want)
	t.judge(true)
}
