package durablefunc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
)

// ErrNoEvent matches errors of type [*NoEventError].
var ErrNoEvent = errors.New("durablefunc: the event of the execution is on a later page of its operations; set durablefunc.Options.Service")

// NoEventError reports that an invocation of a [Wrap] function came without
// its event: the event is so large, near 6 MB, that the service sends it on a later
// page. The function did not run. Set [Options].Service.
type NoEventError struct{}

func (*NoEventError) Error() string { return ErrNoEvent.Error() }

// SafeText returns the whole text.
func (e *NoEventError) SafeText() string { return e.Error() }

// Is reports whether target is ErrNoEvent.
func (*NoEventError) Is(target error) bool { return target == ErrNoEvent }

// execution is the execution of a request.
type execution struct {
	arn     string
	start   time.Time // the zero time if it is unknown
	input   string    // the JSON text of the event, or ""
	resumed bool      // it has other operations: its function has run before
}

// readExecution reads a request. The operation of the execution may be on a later
// page, which is fetched. Further pages are the SDK's business.
func (s optionalService) readExecution(ctx context.Context, x *idempotent.Executor, request []byte) (execution, error) {
	var r struct {
		DurableExecutionArn, CheckpointToken string
		InitialExecutionState                struct {
			NextMarker string
			Operations []struct {
				Type             string
				StartTimestamp   timestamp
				ExecutionDetails struct{ InputPayload string }
			}
		}
	}
	refuse := func(reason string, err error) (execution, error) {
		return execution{}, &RequestError{Reason: reason, Err: err}
	}
	if err := json.Unmarshal(request, &r); err != nil {
		return refuse("it is not the JSON of one", err)
	}
	if r.DurableExecutionArn == "" {
		return refuse("it has no DurableExecutionArn", nil)
	}
	page := State{NextMarker: r.InitialExecutionState.NextMarker}
	for _, o := range r.InitialExecutionState.Operations {
		page.Operations = append(page.Operations, Operation{o.Type, time.Time(o.StartTimestamp), o.ExecutionDetails.InputPayload})
	}
	e := execution{arn: r.DurableExecutionArn}
	if deadline, ok := adapter.HandlerDeadline(ctx, x); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	for seen := map[string]bool{}; !e.read(page); {
		marker := page.NextMarker
		switch {
		case marker == "":
			return refuse("none of its operations is the execution", nil)
		case seen[marker]:
			return refuse("the pages of its operations go in a circle", nil)
		case s.Service == nil:
			return e, &NoEventError{}
		}
		seen[marker] = true
		var err error
		if page, err = s.GetDurableExecutionState(ctx, e.arn, r.CheckpointToken, marker); err != nil {
			return execution{}, &ServiceError{"GetDurableExecutionState", err}
		}
	}
	return e, nil
}

// read reports whether the page contains the operation of the execution.
func (e *execution) read(page State) (found bool) {
	for _, o := range page.Operations {
		switch {
		case o.Type != "EXECUTION":
			e.resumed = true
		case !found:
			found, e.start, e.input = true, plausible(o.StartTimestamp), o.InputPayload
		}
	}
	e.resumed = e.resumed || found && page.NextMarker != ""
	return found
}

// decode decodes the event. Without a payload, it is the zero event.
func (e execution) decode(event any) error {
	if e.input == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(e.input), event); err != nil {
		return &handlers.DecodeError{Type: fmt.Sprintf("%T", event)[1:], Err: err}
	}
	return nil
}
