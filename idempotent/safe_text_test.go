package idempotent_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// declinedError is an error of a handler that says which text of it may be logged.
type declinedError struct{ card string }

func (e *declinedError) Error() string    { return "declined: " + e.card }
func (e *declinedError) SafeText() string { return "declined" }

// An error decides itself, and one that says nothing is shown as its type.
func TestSafeTextQuotesNoErrorOfAHandler(t *testing.T) {
	own := errors.New(handlersText)
	for want, err := range map[string]error{
		"*errors.errorString": own,
		"*fmt.wrapError":      fmt.Errorf("pay: %w", own),
		"declined":            &declinedError{handlersText},
		"declined; *errors.errorString; idempotent: in-memory": errors.Join(&declinedError{handlersText}, own, safe("idempotent: in-memory")),
		"*idempotent.StoreError":                               (*idempotent.StoreError)(nil),
		"*idempotent.ReplayedError":                            &idempotent.ReplayedError{Type: "T", Message: handlersText, Code: handlersText},
		"*driver.Rejected":                                     &driver.Rejected{Err: own},
		"idempotent: attempt 2 of key ab ran out of time; its effects outside of a transaction may have happened, and a retry repeats them: *errors.errorString":                       &idempotent.TimedOutError{RecordID: "ab", Attempt: 2, Err: own},
		"idempotent: key ab was issued 2h0m0s ago, and its record may have expired; check whether the work was done, and use a new key if it was not":                                  &idempotent.KeyExpiredError{RecordID: "ab", Age: 2 * time.Hour},
		"idempotent: the first attempt with key ab began at 2026-07-03T16:00:00Z, and a provider may have forgotten its keys; check what was done, then resolve or release the record": &idempotent.KeyForgottenError{RecordID: "ab", Began: time.Date(2026, 7, 3, 18, 0, 0, 0, time.FixedZone("", 7200)), Attempts: 1},
		"idempotent: the record is not resumed: it is gone":                                                                                           &idempotent.ResumeError{Reason: "it is gone", Err: own},
		`idempotent: step "charge" is not undone: declined`:                                                                                           &idempotent.CompensationError{Step: "charge", Err: &declinedError{handlersText}, Cause: own},
		"idempotent: the transaction of key ab may or may not be committed: reset; *driver.Rejected":                                                  &idempotent.OutcomeUnknownError{RecordID: "ab", Err: errors.Join(errors.New("reset"), &driver.Rejected{Err: own})},
		"idempotent: all attempts with key ab failed or have an unknown outcome (3 counted); check what was done, then complete or remove the record": &idempotent.OutcomeUnknownError{RecordID: "ab", Attempts: 3},
		"idempotent: complete: the handler ran; its result may not be recorded: reset":                                                                &idempotent.StoreError{Op: "complete", Executed: true, Err: errors.New("reset"), Handler: own},
	} {
		got := idempotent.SafeText(err)
		check.Equal(t, got, want, err)
		check.Lacks(t, got, handlersText, "quotes the handler", err)
	}
}

// safe is an error without a pointer.
type safe string

func (s safe) Error() string    { return handlersText }
func (s safe) SafeText() string { return string(s) }

// The line of a call has the text that an error calls safe.
func TestLogObserverWritesTheSafeTextOfAHandlersError(t *testing.T) {
	for handlerErrors, want := range map[bool]string{false: `error=declined`, true: `error="declined: ` + handlersText} {
		out := logged(t)
		o := idempotent.LogObserver{HandlerErrors: handlerErrors}
		o.Observe(t.Context(), idempotent.Event{Operation: "op", Outcome: idempotent.OutcomeReleased, Err: &declinedError{handlersText}})
		check.Contains(t, out.String(), want)
	}
}

// The program ended the context, with a cause of its own.
func TestSafeTextOfAWaitDoesNotQuoteItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExecutor(t, memory.New(0), &idempotent.Config{Wait: time.Minute})
		done := inBackground(t, x, 10*time.Second, "", nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errors.New("customer 4711 hung up")) })
		_, _, err := do(ctx, x, func(context.Context) (string, error) { return "", nil })
		text := idempotent.SafeText(err)
		check.Failed(t, err)
		check.Lacks(t, text, "4711")
		<-done
	})
}

// A text names the record, and quotes no key: neither a hashed one nor a Key.Record.
func TestTextsNameTheRecordAndQuoteNoKey(t *testing.T) {
	const secret = "customer 4711"
	sum := sha256.Sum256([]byte(secret))
	hashed := idempotent.Key{Scope: secret, ID: secret}
	id, err := hashed.RecordID("op")
	check.Must(t, err)
	for want, key := range map[string]idempotent.Key{id: hashed, hex.EncodeToString(sum[:])[:12]: {Record: secret}} {
		out := logged(t)
		x := newExecutor(t, memory.New(0), &idempotent.Config{Observer: idempotent.LogObserver{}})
		_, err := idempotent.Do(t.Context(), x, key, func(ctx context.Context) (string, error) {
			claim, _ := idempotent.FromContext(ctx)
			check.Equal(t, claim.RecordID, want)
			key.Payload = "another"
			return idempotent.Do(context.WithoutCancel(t.Context()), x, key, mustNotRun(t))
		})
		check.Contains(t, err.Error(), "key "+want+" ")
		check.Contains(t, out.String(), "record_id="+want+" ")
		check.Lacks(t, err.Error()+out.String(), secret)
	}
}
