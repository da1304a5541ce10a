package kill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lambda-once/once/local/lambdaruntime"
)

// ErrNotFinal reports that no answer was final, however often the event was delivered.
var ErrNotFinal = errors.New("no final answer")

// caller delivers one event again and again.
type caller struct {
	*World
	function *lambdaruntime.Runtime
	patience time.Duration
	retries  int
	crashes  int
	broken   error // the first that was seen between two attempts
	// disturbed is the last failure of an invocation that neither the one kill
	// nor its lease explains.
	disturbed error
}

// ask invokes the function until it returns a final response.
func (c *caller) ask(ctx context.Context) (lambdaruntime.Response, error) {
	ticker := time.NewTicker(Backoff)
	defer ticker.Stop()
	for deadline := time.Now().Add(c.patience); ; c.retries++ {
		answer, err := c.function.Invoke(ctx, c.Event)
		if err == nil && c.Final(answer) {
			return answer, nil
		}
		expected := err == nil && c.Expected(answer) || c.isKill(err)
		if err == nil {
			err = fmt.Errorf("response %s", answer.Payload)
		}
		if !expected {
			c.disturbed = err
		}
		if err := c.look(ctx); err != nil {
			return answer, err
		}
		if time.Now().After(deadline) {
			return answer, errors.Join(fmt.Errorf("%w in %v; last error: %w", ErrNotFinal, c.patience, err), c.disturbed)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return answer, context.Cause(ctx)
		}
	}
}

func (c *caller) look(ctx context.Context) error {
	if c.Glance == nil {
		return nil
	}
	broken, err := c.Glance(ctx)
	c.broken = cmp.Or(c.broken, broken)
	return err
}

// isKill reports whether err is the first crash, which is the planned one.
func (c *caller) isKill(err error) bool {
	if !crashed(err) {
		return false
	}
	c.crashes++
	return c.crashes == 1
}

// crashed reports whether a process was killed, also before it received its event.
func crashed(err error) bool {
	_, crashed := errors.AsType[*lambdaruntime.CrashedError](err)
	_, never := errors.AsType[*lambdaruntime.InitError](err)
	return crashed || never
}
