package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// A failure that a tool has stored is replayed like a handler's.
func TestEncodedFailureIsReplayed(t *testing.T) {
	long := strings.Repeat("é", 4<<10)
	for _, want := range []idempotent.ReplayedError{
		{Type: "CardDeclined", Message: "no money", Code: "declined"},
		{Message: long},
	} {
		data, err := want.Encode()
		check.Must(t, err)
		store := memory.New(0)
		id, err := theKey.RecordID("op")
		check.Must(t, err)
		check.Must(t, store.Put(driver.Record{ID: id, Status: driver.Failed, Data: data, Expires: time.Now().Add(time.Hour)}))
		_, err = idempotent.Do(t.Context(), newExecutor(t, store, nil), theKey, func(context.Context) (string, error) {
			t.Error("it ran")
			return "", nil
		})
		want.Message = want.Message[:min(len(want.Message), 4<<10)]
		got := check.As[*idempotent.ReplayedError](t, err)
		check.Deep(t, *got, want)
	}
}

type insufficientFundsError struct{ missing int }

func (e *insufficientFundsError) Error() string { return fmt.Sprintf("%d too little", e.missing) }

func (e *insufficientFundsError) ErrorCode() string { return "funds" }

func TestDoReplaysPermanentErrors(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	first := &insufficientFundsError{5}
	try(t.Context(), t, x, failsWith(idempotent.Permanent(first))).with("").fails(first).ended(idempotent.OutcomeFailed)
	r := try(t.Context(), t, x, mustNotRun(t)).ended(idempotent.OutcomeReplayed)
	replayed := check.As[*idempotent.ReplayedError](t, r.err)
	check.Deep(t, *replayed, idempotent.ReplayedError{Type: "insufficientFundsError", Message: "5 too little", Code: "funds"})
	check.Equal(t, stored(t, store).Status, driver.Failed)
}

func TestDoFindsPermanentErrorsThatAreWrapped(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	first := fmt.Errorf("while paying: %w", idempotent.Permanent(errors.New("no")))
	try(t.Context(), t, x, failsWith(first)).fails(first)
	try(t.Context(), t, x, mustNotRun(t)).is(idempotent.ErrReplayed)
}

func TestDoReleasesPermanentErrorsWhereConfigured(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{ReleasePermanent: true})
	first := errors.New("no")
	try(t.Context(), t, x, failsWith(idempotent.Permanent(first))).fails(first).ended(idempotent.OutcomeReleased)
	try(t.Context(), t, x, returns("second")).returned("second")
}

// publicError shows its cause to the caller alone.
type publicError struct{ cause error }

func (e *publicError) Error() string { return "declined: " + e.cause.Error() }

func (e *publicError) FailureMessage() string { return "declined" }

func TestFailureMessageIsStoredInPlaceOfTheText(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	fails := failsWith(idempotent.Permanent(&publicError{errCrash}))
	if _, _, err := do(t.Context(), x, fails); err == nil || err.Error() != "declined: "+errCrash.Error() {
		t.Errorf("the first caller got %v", err)
	}
	replayed := check.As[*idempotent.ReplayedError](t, try(t.Context(), t, x, fails).err)
	check.Equal(t, replayed.Message, "declined")
	check.Equal(t, replayed.Type, "publicError")
}
