package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/lambda-once/once/local/lambdaruntime"
)

// A limit is a crash or a pause at the worst moment, with a client that retries
// until it has its answer.
type limit struct {
	name    string
	charged bool // it comes between the charge and its record
	zombie  bool // the first process is frozen, and lives on
	want    int  // charges, with ids that the provider cannot recognise
}

var theLimits = []limit{
	{"killed before it charged", false, false, 1},
	{"killed after it charged", true, false, 2},
	{"frozen after it charged, for longer than its lease", true, true, 2},
}

// Long enough to kill the process in either half of a charge, and short enough to
// wait for the lease.
const (
	limitDelay   = 2 * time.Second
	limitTimeout = 4 * time.Second
)

// play is one limit with one kind of payment id.
type play struct {
	limit
	id      string
	text    bytes.Buffer
	charges int // counted
	err     error
}

// limits plays every limit twice, side by side: with random payment IDs, and with
// the downstream key as the ID.
func (s *stage) limits(ctx context.Context, tell *timeline) ([]*play, error) {
	tell.title("What a crash or a pause between the charge and its record costs")
	tell.line("  (all six at once; the function's timeout is %v and the clock skew 1s, so a takeover starts after about %v)\n", limitTimeout, limitTimeout+2*time.Second)
	var plays []*play
	for _, l := range theLimits {
		plays = append(plays, &play{limit: l, id: "random"})
		l.want = 1
		plays = append(plays, &play{limit: l, id: "downstream"})
	}
	var group sync.WaitGroup
	for _, p := range plays {
		group.Go(func() { p.charges, p.err = s.play(ctx, newTimeline(&p.text), p.limit, p.id) })
	}
	group.Wait()
	var errs []error
	for _, p := range plays {
		fmt.Fprint(tell.out, &p.text)
		if p.err != nil {
			errs = append(errs, fmt.Errorf("%s, %s ids: %w", p.name, p.id, p.err))
		}
	}
	return plays, errors.Join(errs...)
}

func (s *stage) play(ctx context.Context, tell *timeline, l limit, id string) (charges int, err error) {
	c, err := s.deploy(ctx, 2, limitTimeout, limitDelay, "PAYMENTS_ID="+id)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	tell.line("  %s; the payment's id is %s", l.name, map[string]string{"random": "random", "downstream": "the downstream key"}[id])

	event := request("5f1c7e2a-0d2b-4f6e-9a52-6d4f3f0f6a11", 1299)
	var first response
	var firstErr error
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		first, firstErr = post(ctx, c.Environment(0), event)
	}()
	tell.note("the first request is on its way")
	if err := c.strike(ctx, l, tell); err != nil {
		return 0, err
	}
	if !l.zombie {
		<-answered
		if _, crashed := errors.AsType[*lambdaruntime.CrashedError](firstErr); !crashed {
			return 0, fmt.Errorf("the killed process responded with %v, %w", first.Status, firstErr)
		}
	}
	retry, err := c.retry(ctx, event, tell)
	if err != nil {
		return 0, err
	}
	if l.zombie {
		if err := c.Environment(0).Thaw(); err != nil {
			return 0, err
		}
		<-answered
		if firstErr != nil {
			return 0, firstErr
		}
		tell.note("thawed, it cannot record its own result, and returns the recorded one: %d %s", first.Status, first.Body)
		if !first.same(retry) || !first.replayed() {
			return 0, errors.New("the thawed process did not return the recorded result")
		}
	}
	if charges, err = c.count(ctx, c.payments); err != nil {
		return 0, err
	}
	tell.note("charges: %d\n", charges)
	if charges != l.want {
		err = fmt.Errorf("%d charges, want %d", charges, l.want)
	}
	return charges, err
}

// strike kills or freezes the first process as soon as it has its record, or has
// charged.
func (c *scene) strike(ctx context.Context, l limit, tell *timeline) error {
	table, act, how := c.records, c.Environment(0).Kill, "killed (SIGKILL)"
	if l.charged {
		table = c.payments
	}
	if l.zombie {
		act, how = c.Environment(0).Freeze, "frozen (SIGSTOP)"
	}
	for n := 0; n == 0; {
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return err
		}
		var err error
		if n, err = c.count(ctx, table); err != nil {
			return err
		}
	}
	if err := act(); err != nil {
		return err
	}
	charges, err := c.count(ctx, c.payments)
	tell.note("its process is %s; charges so far: %d", how, charges)
	return err
}

// retry repeats a request in a second environment until it succeeds, as its
// 409s ask for.
func (c *scene) retry(ctx context.Context, event []byte, tell *timeline) (response, error) {
	for conflicts := 0; ; conflicts++ {
		answer, err := post(ctx, c.Environment(1), event)
		if err != nil {
			return answer, err
		}
		switch {
		case answer.Status == http.StatusCreated && conflicts == 0:
			return answer, errors.New("the retry did not meet the lease of the first request")
		case answer.Status == http.StatusCreated:
			tell.note("after the lease a retry takes over: 201 %s", answer.Body)
			return answer, nil
		case answer.Status != http.StatusConflict:
			return answer, fmt.Errorf("the retry received %d %s", answer.Status, answer.Body)
		case conflicts == 0:
			tell.note("a retry within the lease: 409, Retry-After %s", answer.Headers["Retry-After"])
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return answer, err
		}
	}
}
