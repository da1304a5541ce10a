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
