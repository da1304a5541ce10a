// Package handlertest is shared by the tests of package handlers and of the packages
// below it.
package handlertest

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// Executor returns the executor of an operation.
func Executor(t testing.TB, store driver.Store, config *idempotent.Config) *idempotent.Executor {
	t.Helper()
	x, err := idempotent.New("create-payment", store, config)
	check.Must(t, err)
	return x
}

// Deliver invokes a handler as Lambda's runtime does, and returns the JSON of its
// response.
func Deliver(ctx context.Context, handler any, event []byte) (string, error) {
	answer, err := lambda.NewHandler(handler).Invoke(ctx, event)
	return string(bytes.TrimSpace(answer)), err
}

// Golden returns a file of testdata.
func Golden(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	check.Must(t, err)
	return bytes.TrimSpace(text)
}

// Marshal returns the JSON of a value.
func Marshal(t testing.TB, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	check.Must(t, err)
	return text
}

// Logged returns the lines that run writes to the default logger.
func Logged(t testing.TB, run func()) (lines []map[string]any) {
	t.Helper()
	var output bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&output, nil)))
	defer slog.SetDefault(before)
	run()
	for decoder := json.NewDecoder(&output); decoder.More(); {
		var line map[string]any
		check.Must(t, decoder.Decode(&line))
		lines = append(lines, line)
	}
	return lines
}

// IsLine tests that a line of the log has these members.
func IsLine(t testing.TB, line, members map[string]any) {
	t.Helper()
	for name, want := range members {
		check.Equal(t, line[name], want, name)
	}
}

// Observer is a function as an idempotent.Observer.
type Observer func(idempotent.Event)

func (o Observer) Observe(_ context.Context, e idempotent.Event) { o(e) }

// DeclinedError is an error of a user's handler.
type DeclinedError struct{ Code string }

func (e *DeclinedError) Error() string { return "declined " + e.Code }

// Quiet ignores failures, in tests whose records fail on purpose.
func Quiet(context.Context, *handlers.RecordError) {}

// Received stores the failures that the option OnFailure receives.
type Received struct {
	mu     sync.Mutex
	Failed []*handlers.RecordError
}

// Receive is an option OnFailure.
func (r *Received) Receive(_ context.Context, e *handlers.RecordError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Failed = append(r.Failed, e)
}

// StreamAnswer returns the JSON of a response that reports an id, or none.
func StreamAnswer(id string) string {
	if id == "" {
		return `{"batchItemFailures":[]}`
	}
	return `{"batchItemFailures":[{"itemIdentifier":"` + id + `"}]}`
}

// ContinuesFrom delivers the event of a stream, whose handler must report this record,
// or none.
func ContinuesFrom(t testing.TB, ctx context.Context, handler, event any, id string, about ...any) {
	t.Helper()
	answer, err := Deliver(ctx, handler, Marshal(t, event))
	check.Must(t, err, about...)
	check.Equal(t, answer, StreamAnswer(id), about...)
}

// CheckMistakes tests that construct panics with a *driver.ConfigError that has a line
// for each of mistakes, and no other.
func CheckMistakes(t *testing.T, construct func(), mistakes ...string) {
	t.Helper()
	defer func() {
		t.Helper()
		config, ok := recover().(*driver.ConfigError)
		if !ok {
			t.Fatal("no *driver.ConfigError")
		}
		lines := strings.Split(config.Error(), "\n")
		if len(lines) != len(mistakes) {
			t.Fatalf("%d mistakes, want %d: %v", len(lines), len(mistakes), config)
		}
		for i, mistake := range mistakes {
			check.Contains(t, lines[i], mistake)
		}
	}()
	construct()
}
