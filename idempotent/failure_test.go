package idempotent_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
		_, err = idempotent.Do(t.Context(), newExecutor(t, store, nil), theKey, mustNotRun(t))
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
	try(t.Context(), t, x, failsWith(idempotent.Permanent(first))).with("").fails(first).ended(idempotent.OutcomeFailed).roundTrips(2)
	r := try(t.Context(), t, x, mustNotRun(t)).ended(idempotent.OutcomeReplayed).roundTrips(1)
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

// keyRefusal is an error of a key function that names its own reason.
type keyRefusal struct{ why idempotent.Refusal }

func (e *keyRefusal) Error() string               { return "refused" }
func (e *keyRefusal) Refusal() idempotent.Refusal { return e.why }

// Reasons are few, whatever errors say: metrics have them as a dimension.
func TestRefusalOfAKeyFunction(t *testing.T) {
	for want, err := range map[idempotent.Refusal]error{
		idempotent.RefusalMissingKey:    &idempotent.MissingKeyError{Part: "id"},
		idempotent.RefusalUnknownCaller: fmt.Errorf("scope: %w", &idempotent.MissingKeyError{Part: "scope"}),
		idempotent.RefusalInvalidKey:    errors.Join(errors.New("no"), &idempotent.InvalidKeyError{Part: "ID"}),
		idempotent.RefusalUnreadable:    &idempotent.InvalidPayloadError{},
		idempotent.RefusalTooLarge:      &keyRefusal{idempotent.RefusalTooLarge},
		idempotent.RefusalRejected:      &keyRefusal{"a reason of each request"},
		"":                              errors.New("broken"),
	} {
		check.Equal(t, refusalBy(t, err).Refusal(), want, err)
	}
	for _, err := range []error{&keyRefusal{""}, (*keyRefusal)(nil), &idempotent.StoreError{Op: "claim", Err: &idempotent.InvalidPayloadError{}}} {
		check.Equal(t, refusalBy(t, err).Refusal(), "", err)
	}
	check.Equal(t, refusalBy(t, &idempotent.InvalidKeyError{Part: "Scope"}).Refusal(), idempotent.RefusalUnknownCaller)
}

func refusalBy(t *testing.T, keyErr error) idempotent.Event {
	t.Helper()
	var observed []idempotent.Event
	x := newExecutor(t, memory.New(0), &idempotent.Config{Observer: observe(func(e idempotent.Event) { observed = append(observed, e) })})
	key := func(string) (idempotent.Key, error) { return idempotent.Key{}, keyErr }
	_, _ = idempotent.Wrap(x, key, func(ctx context.Context, _ string) (string, error) { return mustNotRun(t)(ctx) })(t.Context(), "")
	if len(observed) != 1 {
		t.Fatalf("%d events", len(observed))
	}
	return observed[0]
}

// A handler that returns the error of a call of its own was not refused.
func TestFailureOfAHandlerIsNoRefusal(t *testing.T) {
	for name, err := range map[string]error{
		"released":  &idempotent.MissingKeyError{Part: "id"},
		"permanent": idempotent.Permanent(&idempotent.MissingKeyError{Part: "id"}),
	} {
		for _, store := range []driver.Store{memory.New(0), newBank()} {
			x := newExecutor(t, store, nil)
			for range 2 { // again, as it was stored
				_, event, _ := do(t.Context(), x, failsWith(err))
				check.Equal(t, event.Refusal(), "", name)
			}
		}
	}
}

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
		"idempotent: key ab is in progress; retry later: *errors.errorString":                                                                                                          &idempotent.InProgressError{RecordID: "ab", Err: own}, // the program's own cause
		"idempotent: the record is not resumed: it is gone":                                                                                                                            &idempotent.ResumeError{Reason: "it is gone", Err: own},
		`idempotent: step "charge" is not undone: declined`:                                                                                                                            &idempotent.CompensationError{Step: "charge", Err: &declinedError{handlersText}, Cause: own},
		"idempotent: the transaction of key ab may or may not be committed: reset; *driver.Rejected":                                                                                   &idempotent.OutcomeUnknownError{RecordID: "ab", Err: errors.Join(errors.New("reset"), &driver.Rejected{Err: own})},
		"idempotent: all attempts with key ab failed or have an unknown outcome (3 counted); check what was done, then complete or remove the record":                                  &idempotent.OutcomeUnknownError{RecordID: "ab", Attempts: 3},
		"idempotent: complete: the handler ran; its result may not be recorded: reset":                                                                                                 &idempotent.StoreError{Op: "complete", Executed: true, Err: errors.New("reset"), Handler: own},
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
