package group

import (
	"context"
	"time"
)

// A Call is one call in a shared request.
type Call[W Work, A any] struct {
	Work W

	ctx context.Context

	// The queue's mutex guards these.
	lingers bool
	flight  *flight // nil while the call waits
	alone   bool    // its caller sends it, and then frees the slot
	hold    *time.Timer

	overdue  chan struct{} // closed when the request may not hold the caller any longer
	answered bool          // for the goroutine of the request
	answer   A
	err      error
	ready    chan struct{} // closed when the call is answered, or to be sent alone
}

// Answer sets the result of the call. The function that sends requests calls it; the
// first of several results counts.
func (c *Call[W, A]) Answer(a A) { c.settle(a, nil) }

func (c *Call[W, A]) settle(a A, err error) {
	if !c.answered {
		c.release()
		c.answered, c.answer, c.err = true, a, err
		close(c.ready)
	}
}

// release stops the timer of a call that is leaving its request.
func (c *Call[W, A]) release() {
	if c.hold != nil {
		c.hold.Stop()
	}
}
