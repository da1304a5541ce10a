package work

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// payment is the request of a call, and the body of a message.
type payment struct {
	ID       string `json:"id"`
	Customer string `json:"customer"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

type receipt struct {
	Charge string `json:"charge"`
}

// A caller makes one call.
type caller func(context.Context, payment) (receipt, error)

func paymentOf(j Job, i int) payment {
	return payment{ID: fmt.Sprintf("%s-%d", j.Keys, i), Customer: "cus_4711", Amount: 129900, Currency: "EUR"}
}

// invoke makes a call with a deadline, as Lambda's have.
func invoke[In, Out any](call func(context.Context, In) (Out, error), in In) (Out, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return call(ctx, in)
}

const shortCharge = "ch_8e03978e4b5f"

// chargeOf returns the result of every call of a job.
func chargeOf(j Job) string {
	if j.Bytes == 0 {
		return shortCharge
	}
	return strings.Repeat("x", j.Bytes-len(`{"charge":""}`))
}

// handler is what is protected: it does nothing but return a result, after a while if
// the series says so.
type handler struct {
	charge  string
	uneven  bool
	runs    atomic.Int64
	started chan bool // nil: handlers return at once
	goOn    chan bool
	release func() error
}

func (h *handler) run(context.Context, payment) (receipt, error) {
	n := h.runs.Add(1)
	if h.uneven {
		time.Sleep(time.Duration(1+n*17%50) * time.Millisecond)
	}
	if h.started != nil {
		h.started <- true
		<-h.goOn
	}
	return receipt{h.charge}, nil
}

// hold makes n calls whose handlers run until release is called.
func (h *handler) hold(n int, call func(i int) error) error {
	h.started, h.goOn = make(chan bool), make(chan bool)
	running, failed := errgroup.WithContext(context.Background())
	for i := range n {
		running.Go(func() error {
			err := call(i)
			select {
			case <-h.goOn:
				return err
			default:
				return fmt.Errorf("a call did not run: %v", err)
			}
		})
	}
	h.release = func() error {
		close(h.goOn)
		return running.Wait()
	}
	for range n {
		select {
		case <-h.started:
		case <-failed.Done():
			return context.Cause(failed)
		}
	}
	return nil
}
