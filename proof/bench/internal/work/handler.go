package work

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"
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

// errRunning is what a call ends with whose key is in progress.
var errRunning = errors.New("in progress")

// once makes call i of a job.
func once(ctx context.Context, call caller, j Job, i int) error {
	ctx, cancel := invocation(ctx)
	defer cancel()
	r, err := call(ctx, paymentOf(j, i))
	if err == nil && r.Charge == "" {
		return errors.New("a call without a result")
	}
	return err
}

func paymentOf(j Job, i int) payment {
	return payment{ID: fmt.Sprintf("%s-%d", j.Keys, i), Customer: "cus_4711", Amount: 129900, Currency: "EUR"}
}

// invocation returns a context with a deadline, as Lambda's have.
func invocation(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Minute)
}

const shortCharge = "ch_8e03978e4b5f"

// chargeOf returns the result of every call of a job.
func chargeOf(j Job) string {
	if j.Bytes == 0 {
		return shortCharge
	}
	return noise(j.Bytes - len(`{"charge":""}`))
}

// handler is what is protected: it does nothing but return a result.
type handler struct {
	charge  string
	runs    atomic.Int64
	started chan bool // nil: handlers return at once
	goOn    chan bool
	release func() error
}

func (h *handler) run(context.Context, payment) (receipt, error) {
	h.runs.Add(1)
	if h.started != nil {
		h.started <- true
		<-h.goOn
	}
	return receipt{h.charge}, nil
}

// hold makes n calls whose handlers run until release is called.
func (h *handler) hold(n int, call func(i int) error) error {
	h.started, h.goOn = make(chan bool), make(chan bool)
	errs := make(chan error, n)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { errs <- call(i) })
	}
	h.release = func() error {
		close(h.goOn)
		running.Wait()
		close(errs)
		var all error
		for err := range errs {
			all = errors.Join(all, err)
		}
		return all
	}
	for range n {
		select {
		case <-h.started:
		case err := <-errs:
			return fmt.Errorf("a call did not run: %w", err)
		}
	}
	return nil
}

// noise is text that compresses badly. It is the same for the same length.
func noise(n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.Grow(n)
	for range n {
		b.WriteByte(letters[r.IntN(len(letters))])
	}
	return b.String()
}
