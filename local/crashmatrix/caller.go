package crashmatrix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lambda-once/once/local/lambdaruntime"
)

// caller repeats one request.
type caller struct {
	*world
	function *lambdaruntime.Runtime
	retries  int
	crashes  int
	wrong    string // the first that was seen between two attempts
	// disturbed is the last failure of an invocation that neither the one kill
	// nor its lease explains.
	disturbed error
}

// ask invokes the function until it returns a final answer.
func (c *caller) ask(ctx context.Context) (lambdaruntime.Response, error) {
	ticker := time.NewTicker(backoff)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); ; c.retries++ {
		answer, err := c.function.Invoke(ctx, c.event)
		if err == nil && c.final(answer) {
			return answer, nil
		}
		if err == nil {
			err = fmt.Errorf("response %s", answer.Payload)
		}
		if !c.expects(answer, err) {
			c.disturbed = err
		}
		if err := c.look(ctx); err != nil {
			return answer, err
		}
		if time.Now().After(deadline) {
			return answer, errors.Join(fmt.Errorf("no final answer in %v; last error: %w", patience, err), c.disturbed)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return answer, context.Cause(ctx)
		}
	}
}

func (c *caller) look(ctx context.Context) error {
	if c.glance == nil {
		return nil
	}
	wrong, err := c.glance(ctx)
	c.wrong = cmp.Or(c.wrong, wrong)
	return err
}

// expects a crash, and that retries are refused until its lease lapses.
func (c *caller) expects(r lambdaruntime.Response, err error) bool {
	if crashed(err) {
		c.crashes++
		return c.crashes == 1
	}
	return r.FunctionError != nil && r.FunctionError.Type == "InProgressError"
}

// crashed reports whether a process was killed, also before it received its event.
func crashed(err error) bool {
	_, crashed := errors.AsType[*lambdaruntime.CrashedError](err)
	_, never := errors.AsType[*lambdaruntime.InitError](err)
	return crashed || never
}
