package idempotent

import (
	"context"
	"strings"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/options"
	"github.com/lambda-once/once/internal/form"
)

func (s *steps) open(handler context.Context, cancel func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler, s.cancel = handler, cancel
}

// setOwner sets the owner of the record that steps are written to.
func (s *steps) setOwner(r driver.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owner, s.attempt = r.Owner, r.Attempt
}

// step runs a step of the handler, or decodes its stored result.
func (f *frame) step(ctx context.Context, s *step) error {
	if err := checkStepName(f.path, s.name); err != nil {
		return err
	}
	full := strings.Join(append(f.path[:len(f.path):len(f.path)], s.name), ":")
	return f.stepAs(ctx, full, s)
}

func (f *frame) stepAs(ctx context.Context, full string, s *step) error {
	if s.undo != nil && len(f.path) > 0 {
		// A later attempt that receives the outer step's result does not reach
		// it, and could not undo it.
		return &StepError{Step: full, Reason: "a step within another one cannot be undone; let the outer one undo it"}
	}
	data, found, err := f.steps.begin(full, s, f.exclusive())
	switch {
	case err != nil:
		return err
	case found:
		return f.steps.replay(ctx, full, data, s)
	}
	defer f.steps.done()
	if ctx.Err() != nil {
		f.steps.free(full)
		return context.Cause(ctx)
	}
	if err := f.runStep(ctx, full, s); err != nil {
		return err
	}
	data, err = f.steps.finish(ctx, full, s)
	// A result that may not be recorded has to be undone too.
	f.steps.finished(full, data, s)
	return err
}

// runStep frees the name of the step after an error or a panic.
func (f *frame) runStep(ctx context.Context, full string, s *step) (err error) {
	done := false
	defer func() {
		if !done {
			f.steps.free(full)
		}
	}()
	inner := *f
	inner.path = append(f.path[:len(f.path):len(f.path)], s.name)
	err = s.run(options.WithCall(ctx, &inner))
	done = err == nil
	return err
}

// begin reserves a name, and returns the result stored under it. If there is none,
// the step counts as running until done.
func (s *steps) begin(full string, st *step, exclusive string) (data []byte, found bool, err error) {
	refuse := func(reason string) ([]byte, bool, error) {
		return nil, false, &StepError{Step: full, Reason: reason}
	}
	// Wrong code fails the call, even if it ignores the error.
	misuse := func(reason string) ([]byte, bool, error) {
		_, _, s.misused = refuse(reason)
		return nil, false, s.misused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch data, found = s.stored[full]; {
	case s.x == nil:
		s.running++
		return nil, false, nil // nothing is known of the call
	case s.mode.IsExecution():
		return misuse("a durable function has the steps of its own SDK; " + inADurableStep)
	case s.x.config.Optimistic:
		return misuse("under Config.Optimistic a handler has no effects but its transaction; unset it for this handler")
	case s.x.config.shared:
		return misuse("another library shares the record, and its takeover would forget the step; send a DownstreamKey with the effect, or give this handler records of its own")
	case st.uncarried != "":
		return misuse(st.uncarried) // also if found, which is empty
	case exclusive != "" && !found:
		return misuse(exclusive)
	case s.cancel == nil:
		return refuse("the handler has returned")
	case st.undo != nil && s.x.config.ReleasePermanent:
		return misuse("with Config.ReleasePermanent no record says that a failure was undone")
	case s.stopped != nil && !found && !strings.HasPrefix(full, form.InternalStep):
		return nil, false, s.stopped
	case s.begun[full]:
		return misuse("the name is used twice in one run; in a loop, add the item to the name")
	case s.failed != nil && !found && !strings.HasPrefix(full, form.InternalStep):
		return refuse("the call failed for good and is being undone")
	}
	if s.begun == nil {
		s.begun = make(map[string]bool)
	}
	s.begun[full] = true
	if !found {
		s.running++ // here, or a handler could return in between
	}
	return data, found, nil
}

func (s *steps) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
}

func (s *steps) free(full string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.begun, full)
}

// replay decodes the stored result of a step.
func (s *steps) replay(ctx context.Context, full string, stored []byte, st *step) error {
	st.lost = form.IsLost(stored)
	data, err := s.x.decodeStored(ctx, s.place(full), form.DecodeStep(stored))
	if err != nil {
		lost := unavailable(s.shown, err)
		lost.Step, err = full, lost
		if st.lost && form.IsUndoable(stored) {
			lost.Reason += ", and the attempt that had it in memory ended, so the call was stopped to undo the other steps"
			_ = s.stop(lost) // of several, each step returns its own
		}
	} else if err = st.decode(data); err != nil {
		err = &ResultUnavailableError{RecordID: s.shown, Step: full, Reason: "the stored result does not decode into the caller's type", Err: err}
	}
	if err != nil && st.undo != nil {
		// An undo without the result must fail.
		st.undo = func(context.Context, []byte) error { return err }
	}
	s.finished(full, data, st)
	return err
}

func (s *steps) finished(full string, data []byte, st *step) {
	if st.undo == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.undos = append(s.undos, undo{name: full, data: data, lost: st.lost, fn: st.undo})
}

func (s *steps) place(full string) driver.Place {
	return driver.Place{Record: s.id, Slot: "step:" + full}
}

func checkStepName(path []string, name string) error {
	const limit = 255
	length := len(name)
	for _, outer := range path {
		length += len(outer) + 1
	}
	reason := ""
	switch err := checkText("name", name, limit, false); {
	case name == "":
		reason = "the name is empty"
	case strings.Contains(name, ":"):
		reason = "the name contains a ':', which separates the names of nested steps"
	case err != nil:
		reason = "the name is not text of at most 255 bytes"
	case length > limit:
		reason = "together with the outer steps' names, the name has more than 255 bytes"
	}
	if reason == "" {
		return nil
	}
	return &StepError{Step: form.Truncate(name, limit), Reason: reason}
}

// encoded returns the stored bytes of a finished step.
func (st *step) encoded(e form.Stored) []byte {
	if st.undo == nil {
		return form.EncodeStep(e)
	}
	return form.Undoable(form.EncodeStep(e))
}
