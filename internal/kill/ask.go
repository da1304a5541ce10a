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

// ask invokes the function until it returns a final response. It counts the retries in
// r, and glances at the world between two of them.
func (s *Scene) ask(ctx context.Context, w *World, function *lambdaruntime.Runtime, r *Run) (lambdaruntime.Response, error) {
	ticker := time.NewTicker(Backoff)
	defer ticker.Stop()
	for deadline := time.Now().Add(s.Patience); ; r.Retries++ {
		answer, err := function.Invoke(ctx, w.Event)
		expected := false
		switch {
		case err == nil && w.Final(answer):
			return answer, nil
		case err == nil:
			expected = s.Expected == nil || s.Expected(answer)
			err = fmt.Errorf("response %s", answer.Payload)
		case crashed(err): // the first one is planned
			expected, r.crashed = !r.crashed, true
		}
		if !expected {
			r.disturbed = err
		}
		if w.Glance != nil {
			broken, err := w.Glance(ctx)
			if r.Broken = cmp.Or(r.Broken, broken); err != nil {
				return answer, err
			}
		}
		if time.Now().After(deadline) {
			return answer, errors.Join(fmt.Errorf("%w in %v; last error: %w", ErrNotFinal, s.Patience, err), r.disturbed)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return answer, context.Cause(ctx)
		}
	}
}

// crashed reports whether a process was killed, also before it received its event.
func crashed(err error) bool {
	_, crashed := errors.AsType[*lambdaruntime.CrashedError](err)
	_, never := errors.AsType[*lambdaruntime.InitError](err)
	return crashed || never
}
