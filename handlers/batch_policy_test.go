package handlers_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/idempotent/outbound"
)

// failing is a handler of a queue whose messages fail with a text.
func failing(x *idempotent.Executor, text string, o *handlers.SQSOptions) any {
	return handlers.SQS(x, nil, func(_ context.Context, m handlers.SQSMessage[order]) error {
		if m.Body.Panic {
			panic(text)
		}
		return errors.New(text)
	}, o)
}

// A report of failures is no error to Lambda: the line of the log is the only
// trace of what the handler said.
func TestFailuresAreLoggedWithTheHandlersText(t *testing.T) {
	long := strings.Repeat("é", 1000)
	for text, want := range map[string]string{
		"the bank said 51":            "the bank said 51",
		"two\nlines\r\n\tand\x00more": "two lines   and more",
		"no \xff text":                "no ? text",
		long:                          long[:1020] + "?…", // in the middle of a rune
	} {
		handler := failing(newExecutor(t, memory.New(0), nil), text, nil)
		lines := logged(t, func() {
			if _, err := deliver(t.Context(), handler, sqsEvent(t, message("m0", order{ID: "secret"}), message("m1", order{ID: "secret", Panic: true}))); err != nil {
				t.Fatal(err)
			}
		})
		if len(lines) != 2 || lines[0]["id"] != "m0" || lines[0]["level"] != "WARN" || lines[0]["error"] != want {
			t.Fatalf("logged %v, want %q", lines, want)
		}
		panicked, _ := lines[1]["error"].(string)
		if text != long && panicked != "panic: "+want {
			t.Errorf("logged %q of a panic", panicked)
		}
		for _, line := range lines {
			if logged := line["error"].(string); len(logged) > 1024 || !utf8.ValidString(logged) {
				t.Errorf("%d bytes: %q", len(logged), logged)
			}
		}
		if stack, _ := lines[1]["stack"].(string); !strings.Contains(stack, "batch_policy_test.go") {
			t.Errorf("the stack of the panic: %v", lines[1])
		}
		if text := string(marshal(t, lines)); strings.Contains(text, "secret") {
			t.Errorf("the key or the payload is logged: %s", text)
		}
	}
}

// The line of a stored failure says that nothing ran, and the line of a record
// that was not started that there was no call.
func TestLineOfARecordTellsAReplayedFailureFromANewOne(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	var failed []*handlers.RecordError
	place := func(o *handlers.SQSOptions) any {
		return handlers.SQS(x, nil, func(context.Context, handlers.SQSMessage[order]) error {
			return idempotent.Permanent(errors.New("declined"))
		}, o)
	}
	handler, observed := place(nil), place(&handlers.SQSOptions{OnFailure: func(_ context.Context, e *handlers.RecordError) { failed = append(failed, e) }})
	event := sqsEvent(t, message("m0", order{ID: "o0"}))
	for _, outcome := range []string{"failed", "replayed"} {
		lines := logged(t, func() { _, _ = deliver(t.Context(), handler, event) })
		if len(lines) != 1 || lines[0]["msg"] != "record failed" {
			t.Fatalf("logged %v", lines)
		}
		for name, want := range map[string]any{"operation": "create-payment", "outcome": outcome, "error": "declined"} {
			if lines[0][name] != want {
				t.Errorf("%s: %s is %v, want %v", outcome, name, lines[0][name], want)
			}
		}
		if hash, _ := lines[0]["key_hash"].(string); len(hash) != 64 {
			t.Errorf("%s: key_hash is %v", outcome, lines[0]["key_hash"])
		}
	}
	_, _ = deliver(t.Context(), observed, event)
	if len(failed) != 1 || failed[0].Event.Outcome != idempotent.OutcomeReplayed || failed[0].Event.Operation != "create-payment" {
		t.Errorf("OnFailure receives %+v", failed)
	}
}

// A record that was not started has no call to tell of.
func TestLineOfARecordThatWasNotStartedHasNoOutcome(t *testing.T) {
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SQSMessage[order]) error {
		return errors.New("declined")
	}, &handlers.SQSOptions{Ahead: -1, OnFailure: func(_ context.Context, e *handlers.RecordError) {
		if want := map[string]idempotent.Outcome{"m1": "released", "m2": ""}[e.ID]; e.Event.Outcome != want || e.Event.Operation != "create-payment" {
			t.Errorf("%s has the event %+v", e.ID, e.Event)
		}
	}})
	first, second := message("m1", order{ID: "o1"}), message("m2", order{ID: "o2"})
	first.EventSourceARN += ".fifo"
	_, _ = deliver(t.Context(), handler, sqsEvent(t, first, second))
}

type sealer struct{}

func (sealer) Seal(_ context.Context, _ driver.Place, data []byte) ([]byte, error) {
	return append([]byte(driver.SealedPrefix), data...), nil
}

func (sealer) Open(_ context.Context, _ driver.Place, data []byte) ([]byte, error) {
	return bytes.TrimPrefix(data, []byte(driver.SealedPrefix)), nil
}

// Where the text is to be hidden, or what is stored is encrypted, the line has
// types instead.
func TestFailuresAreLoggedWithoutTheHandlersText(t *testing.T) {
	plain := newExecutor(t, memory.New(0), nil)
	sealing := newExecutor(t, memory.New(0), &idempotent.Config{Sealer: sealer{}})
	sqs := sqsEvent(t, message("m0", order{ID: "o0"}), message("m1", order{ID: "o1", Panic: true}))
	fails := errors.New("secret")
	for name, c := range map[string]struct {
		handler any
		event   []byte
		types   []string
	}{
		"an option of SQS": {failing(plain, "secret", &handlers.SQSOptions{HideErrorText: true}), sqs, []string{"*errors.errorString", "*handlers.PanicError"}},
		"a Sealer":         {failing(sealing, "secret", nil), sqs, []string{"*errors.errorString", "*handlers.PanicError"}},
		"an option of SNS": {handlers.SNS(plain, nil, func(context.Context, handlers.SNSMessage[order]) error { return fails },
			&handlers.EventOptions{HideErrorText: true}), snsEvent(t, order{ID: "o0"}), []string{"*errors.errorString"}},
		"an option of Kinesis": {handlers.Kinesis(plain, nil, func(context.Context, handlers.KinesisRecord[order]) error { return fails },
			&handlers.KinesisOptions{HideErrorText: true}), marshal(t, kinesisEvent(t, "a", order{ID: "o0"})), []string{"*errors.errorString"}},
		"an option of the relay": {relay.Outbox(func(context.Context, string, []outbound.Message) ([]error, error) { return nil, fails },
			&relay.Options{HideErrorText: true}), golden(t, "../relay/testdata/outbox.json"), nil},
		"a stored error and a Sealer": {handlers.SQS(sealing, nil, func(context.Context, handlers.SQSMessage[order]) error { return idempotent.Permanent(fails) }, nil),
			sqsEvent(t, message("m2", order{ID: "o2"})), []string{"*errors.errorString"}},
	} {
		for range 2 { // again, as it was stored
			lines := logged(t, func() { _, _ = deliver(t.Context(), c.handler, c.event) })
			if len(lines) == 0 {
				t.Errorf("%s: nothing is logged", name)
			}
			for i, line := range lines {
				if c.types != nil && line["error"] != c.types[i] && line["error"] != "*idempotent.ReplayedError" {
					t.Errorf("%s: logged %v", name, line["error"])
				}
			}
			if text := string(marshal(t, lines)); strings.Contains(text, "secret") {
				t.Errorf("%s: logged %s", name, text)
			}
		}
	}
}
