package handlers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
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
// trace of what the handler said, where its text may be logged.
func TestFailuresAreLoggedWithTheHandlersText(t *testing.T) {
	long := strings.Repeat("é", 1000)
	for text, want := range map[string]string{
		"the bank said 51":            "the bank said 51",
		"two\nlines\r\n\tand\x00more": "two lines   and more",
		"no \xff text":                "no ? text",
		long:                          long[:1020] + "?…", // in the middle of a rune
	} {
		handler := failing(newExecutor(t, memory.New(0), nil), text, &handlers.SQSOptions{OnFailure: handlers.LogErrorText})
		lines := logged(t, func() {
			reports(t, t.Context(), handler, batch{message("m0", order{ID: "secret"}), message("m1", order{ID: "secret", Panic: true})}, "m0 m1")
		})
		isLine(t, lines[0], map[string]any{"id": "m0", "level": "WARN", "error": want})
		if text != long {
			isLine(t, lines[1], map[string]any{"error": "panic: " + want})
		}
		for _, line := range lines {
			logged := line["error"].(string)
			check.True(t, len(logged) <= 1024, len(logged))
			check.True(t, utf8.ValidString(logged), logged)
		}
		check.Contains(t, fmt.Sprint(lines[1]["stack"]), "batch_policy_test.go")
		check.Lacks(t, string(marshal(t, lines)), "secret", "the key or the payload is logged")
	}
}

// The line of a stored failure says that nothing ran, and the line of a record
// that was not started that there was no call.
func TestLineOfARecordTellsAReplayedFailureFromANewOne(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	var failures received
	place := func(o *handlers.SQSOptions) any {
		return handlers.SQS(x, nil, func(context.Context, handlers.SQSMessage[order]) error {
			return idempotent.Permanent(errors.New("declined"))
		}, o)
	}
	handler, observed := place(&handlers.SQSOptions{OnFailure: handlers.LogErrorText}), place(&handlers.SQSOptions{OnFailure: failures.Receive})
	event := sqsEvent(t, message("m0", order{ID: "o0"}))
	for _, outcome := range []string{"failed", "replayed"} {
		lines := logged(t, func() { _, _ = deliver(t.Context(), handler, event) })
		check.Equal(t, len(lines), 1, outcome)
		isLine(t, lines[0], map[string]any{"msg": "record failed", "operation": "create-payment", "outcome": outcome, "error": "declined"})
		check.Equal(t, len(fmt.Sprint(lines[0]["record_id"])), len("create-payment#")+64, outcome)
	}
	_, _ = deliver(t.Context(), observed, event)
	check.Equal(t, len(failures.Failed), 1)
	check.Equal(t, failures.Failed[0].Event.Outcome, idempotent.OutcomeReplayed)
	check.Equal(t, failures.Failed[0].Event.Operation, "create-payment")
}

// A record that was not started has no call to tell of.
func TestLineOfARecordThatWasNotStartedHasNoOutcome(t *testing.T) {
	failures := &received{}
	handler := failing(newExecutor(t, memory.New(0), &idempotent.Config{Ahead: -1}), "declined", &handlers.SQSOptions{OnFailure: failures.Receive})
	reports(t, t.Context(), handler, inGroups(batch{message("m1", order{ID: "o1"}), message("m2", order{ID: "o2"})}, "g"), "m1 m2")
	for i, want := range []idempotent.Outcome{idempotent.OutcomeReleased, ""} {
		check.Equal(t, failures.Failed[i].Event.Outcome, want, i)
		check.Equal(t, failures.Failed[i].Event.Operation, "create-payment", i)
	}
}

type sealer struct{}

func (sealer) Seal(_ context.Context, _ driver.Place, data []byte) ([]byte, error) {
	return append([]byte(driver.SealedPrefix), data...), nil
}

func (sealer) Open(_ context.Context, _ driver.Place, data []byte) ([]byte, error) {
	return bytes.TrimPrefix(data, []byte(driver.SealedPrefix)), nil
}

// Unless the text is asked for, or if what is stored is encrypted, the line has types
// instead.
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
		"SQS":      {failing(plain, "secret", nil), sqs, []string{"*errors.errorString", "*handlers.PanicError"}},
		"a Sealer": {failing(sealing, "secret", &handlers.SQSOptions{OnFailure: handlers.LogErrorText}), sqs, []string{"*errors.errorString", "*handlers.PanicError"}},
		"SNS": {handlers.SNS(plain, nil, func(context.Context, handlers.SNSMessage[order]) error { return fails }, nil),
			snsEvent(t, order{ID: "o0"}), []string{"*errors.errorString"}},
		"Kinesis": {handlers.Kinesis(plain, nil, func(context.Context, handlers.KinesisRecord[order]) error { return fails }, nil),
			marshal(t, kinesisEvent(t, "a", order{ID: "o0"})), []string{"*errors.errorString"}},
		"the relay": {relay.Outbox(func(context.Context, string, []driver.OutboxMessage) ([]error, error) { return nil, fails }, nil),
			golden(t, "../relay/testdata/outbox.json"), nil},
		"a stored error and a Sealer": {handlers.SQS(sealing, nil, func(context.Context, handlers.SQSMessage[order]) error { return idempotent.Permanent(fails) }, nil),
			sqsEvent(t, message("m2", order{ID: "o2"})), []string{"*errors.errorString"}},
	} {
		for range 2 { // again, as it was stored
			lines := logged(t, func() { _, _ = deliver(t.Context(), c.handler, c.event) })
			check.Differ(t, len(lines), 0, name)
			for i, line := range lines {
				if c.types != nil && line["error"] != "*idempotent.ReplayedError" {
					check.Equal(t, line["error"], any(c.types[i]), name)
				}
			}
			check.Lacks(t, string(marshal(t, lines)), "secret", name)
		}
	}
}
