package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// A failure that a tool has stored is replayed like a handler's.
func TestEncodedFailureIsReplayed(t *testing.T) {
	long := strings.Repeat("é", 4<<10)
	for _, want := range []idempotent.ReplayedError{
		{Type: "CardDeclined", Message: "no money", Code: "declined"},
		{Message: long},
	} {
		data, err := want.Encode()
		if err != nil {
			t.Fatal(err)
		}
		store := memory.New(0)
		id, err := theKey.RecordID("op")
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Put(driver.Record{ID: id, Status: driver.Failed, Data: data, Expires: time.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		_, err = idempotent.Do(t.Context(), newExecutor(t, store, nil), theKey, func(context.Context) (string, error) {
			t.Error("it ran")
			return "", nil
		})
		want.Message = want.Message[:min(len(want.Message), 4<<10)]
		var got *idempotent.ReplayedError
		if !errors.As(err, &got) || !reflect.DeepEqual(*got, want) {
			t.Errorf("replayed %.80v, want %.80v", err, &want)
		}
	}
}

type insufficientFundsError struct{ missing int }

func (e *insufficientFundsError) Error() string { return fmt.Sprintf("%d too little", e.missing) }

func (e *insufficientFundsError) ErrorCode() string { return "funds" }

func TestDoReplaysPermanentErrors(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	first := &insufficientFundsError{5}
	value, event, err := do(t.Context(), x, failsWith(idempotent.Permanent(first)))
	if err != first || value != "" || event.Outcome != idempotent.OutcomeFailed {
		t.Fatalf("first: %q, %v, %+v", value, err, event)
	}
	_, event, err = do(t.Context(), x, mustNotRun(t))
	var replayed *idempotent.ReplayedError
	if !errors.As(err, &replayed) || event.Outcome != idempotent.OutcomeReplayed {
		t.Fatalf("second: %v, %+v", err, event)
	}
	if !reflect.DeepEqual(*replayed, idempotent.ReplayedError{Type: "insufficientFundsError", Message: "5 too little", Code: "funds"}) {
		t.Errorf("replayed: %+v", *replayed)
	}
	if r := stored(t, store); r.Status != driver.Failed {
		t.Errorf("stored: %+v", r)
	}
}

func TestDoFindsPermanentErrorsThatAreWrapped(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	first := fmt.Errorf("while paying: %w", idempotent.Permanent(errors.New("no")))
	if _, _, err := do(t.Context(), x, failsWith(first)); err != first {
		t.Errorf("first: %v", err)
	}
	if _, _, err := do(t.Context(), x, mustNotRun(t)); !errors.Is(err, idempotent.ErrReplayed) {
		t.Errorf("second: %v", err)
	}
}

func TestDoReleasesPermanentErrorsWhereConfigured(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{ReleasePermanent: true})
	first := errors.New("no")
	if _, event, err := do(t.Context(), x, failsWith(idempotent.Permanent(first))); err != first || event.Outcome != idempotent.OutcomeReleased {
		t.Errorf("first: %v, %+v", err, event)
	}
	if value, _, err := do(t.Context(), x, returns("second")); err != nil || value != "second" {
		t.Errorf("second: %q, %v", value, err)
	}
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
	_, _, err := do(t.Context(), x, fails)
	if replayed, ok := err.(*idempotent.ReplayedError); !ok || replayed.Message != "declined" || replayed.Type != "publicError" {
		t.Errorf("a repetition got %#v", err)
	}
}
