package durablefunc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

type sale struct {
	ID    string
	Cents int
}

func saleID(s sale) (idempotent.Key, error) { return idempotent.Key{ID: s.ID, Payload: s.Cents}, nil }

const (
	pendingResponse   = `{"Status":"PENDING"}`
	succeededResponse = `{"Status":"SUCCEEDED","Result":"{\"Receipt\":\"r<1>\"}"}`
	failedResponse    = `{"Status":"FAILED","Error":{"ErrorType":"Declined","ErrorMessage":"no"}}`
)

// answers returns a durable function with the response.
func answers(text string) func(context.Context, []byte) ([]byte, error) {
	return func(context.Context, []byte) ([]byte, error) { return []byte(text), nil }
}

// sold returns the durable function of a sale, with records in a store.
func sold(t *testing.T, store driver.Store, next func(context.Context, []byte) ([]byte, error)) durablefunc.Handler {
	return durablefunc.Wrap(newExecutor(t, store, nil), time.Hour, saleID, next, nil)
}

// answered checks the response to an invocation.
func answered(t *testing.T, handler durablefunc.Handler, request []byte, want string, about ...any) {
	t.Helper()
	got, err := handler(t.Context(), request)
	check.Nil(t, err, about...)
	check.Equal(t, string(got), want, about...)
}

// endsWith checks that an invocation ends its execution with an error of a type.
func endsWith(t *testing.T, handler durablefunc.Handler, request []byte, errorType string) {
	t.Helper()
	got, err := handler(t.Context(), request)
	check.Nil(t, err, errorType)
	check.True(t, strings.HasPrefix(string(got), `{"Status":"FAILED","Error":{"ErrorType":"`+errorType+`","ErrorMessage":"`), errorType, string(got))
}

func durableRecord(t *testing.T, store driver.Store) driver.Record {
	t.Helper()
	id, err := idempotent.Key{ID: "o-1"}.RecordID("create-payment")
	check.Must(t, err)
	r, err := store.Get(t.Context(), id)
	check.Must(t, err)
	return r
}

// begun returns a golden request whose execution begins now: that of a golden one
// has ended.
func begun(t *testing.T, name string) []byte {
	t.Helper()
	now := time.Now().UTC()
	return []byte(strings.NewReplacer(
		"1795348800000", strconv.FormatInt(now.UnixMilli(), 10),
		"2026-11-22T12:00:00.000000+00:00", now.Format("2006-01-02T15:04:05.000000+00:00"),
	).Replace(string(golden(t, name))))
}

// Each response is settled, and is returned as it was written.
func TestDurableSettlesByTheResponse(t *testing.T) {
	for _, test := range []struct {
		response string
		status   driver.Status
		owned    bool
	}{
		{pendingResponse, driver.InProgress, true},
		{succeededResponse, driver.Completed, true},
		{failedResponse, driver.InProgress, false},
	} {
		for _, name := range []string{"durable-request.json", "durable-request-resumed.json", "durable-request-paged.json"} {
			store, request := memory.New(0), begun(t, name)
			handler := sold(t, store, func(_ context.Context, got []byte) ([]byte, error) {
				check.Equal(t, string(got), string(request), "the function received", name)
				return []byte(test.response), nil
			})
			answered(t, lambda.NewHandler(handler).Invoke, request, test.response, name)
			r := durableRecord(t, store)
			check.Equal(t, r.Status, test.status, name, test.response)
			check.Equal(t, r.Owner != "", test.owned, name, test.response)
		}
	}
}

// The lease counts from the start of the execution, in each form of its time.
// Without one it counts from the invocation.
func TestDurableClaimsFromTheStartOfTheExecution(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC)
		time.Sleep(time.Until(start.Add(time.Minute)))
		timestamp := func(text string) []byte {
			return bytes.Replace(golden(t, "durable-request.json"), []byte("1795348800000"), []byte(text), 1)
		}
		for name, test := range map[string]struct {
			request []byte
			want    time.Time
		}{
			"milliseconds":       {golden(t, "durable-request.json"), start},
			"text":               {golden(t, "durable-request-paged.json"), start},
			"fractions":          {timestamp("1795348800000.5"), start},
			"an exponent":        {timestamp("1.7953488e12"), start},
			"none":               {timestamp("null"), start.Add(time.Minute)},
			"a later one":        {timestamp("1e300"), start.Add(time.Minute)},
			"nanoseconds":        {timestamp("1795348800000000000"), start.Add(time.Minute)},
			"seconds":            {timestamp("1795348800"), start.Add(time.Minute)},
			"unreadable":         {timestamp(`"today"`), start.Add(time.Minute)},
			"of another type":    {timestamp("[]"), start.Add(time.Minute)},
			"an earlier century": {timestamp(`"1926-11-22T12:00:00Z"`), start.Add(time.Minute)},
		} {
			store := memory.New(0)
			answered(t, sold(t, store, answers(pendingResponse)), test.request, pendingResponse, name)
			check.Time(t, durableRecord(t, store).Lease, test.want.Add(time.Hour+time.Second), name)
		}
	})
}

// What no retry overcomes ends the execution, and the rest is for the service to
// repeat.
func TestDurableEndsAnExecutionThatNoRetryHelps(t *testing.T) {
	input := func(text string) []byte {
		return bytes.Replace(begun(t, "durable-request.json"), []byte(`{\"ID\":\"o-1\",\"Cents\":4200}`), []byte(text), 1)
	}
	store, runs := memory.New(0), 0
	handler := sold(t, store, func(context.Context, []byte) ([]byte, error) {
		runs++
		return []byte(succeededResponse), nil
	})
	answered(t, handler, input(`{\"ID\":\"o-1\",\"Cents\":1}`), succeededResponse)
	for text, want := range map[string]string{
		`{\"ID\":\"o-1\",\"Cents\":2}`:   "KeyReusedError",
		`{\"ID\":\"\"}`:                  "MissingKeyError",
		`{\"ID\":\"a\\tb\"}`:             "InvalidKeyError",
		`{\"ID\":\"o-2\",\"Cents\":\"`:   "DecodeError",
		`{\"ID\":\"o-2\",\"Cents\":[1]}`: "DecodeError",
	} {
		endsWith(t, handler, input(text), want)
		got, _ := handler(t.Context(), input(text))
		check.Lacks(t, string(got), "o-2", "it quotes the key")
	}
	check.Equal(t, runs, 1)
}

// Another kind of handler has stored its own result under the key. No retry would
// find another one.
func TestDurableReplaysNothingThatIsNoResponse(t *testing.T) {
	for _, result := range []string{`{"Receipt":"r"}`, pendingResponse, failedResponse, `"x"`} {
		x := newExecutor(t, memory.New(0), nil)
		_, err := idempotent.Do(t.Context(), x, idempotent.Key{ID: "o-1"}, func(context.Context) (json.RawMessage, error) { return json.RawMessage(result), nil })
		check.Must(t, err)
		endsWith(t, durablefunc.Wrap(x, time.Hour, saleID, answers(succeededResponse), nil), begun(t, "durable-request.json"), "ResultUnavailableError")
	}
}

func TestDurableRefusesOtherInvocations(t *testing.T) {
	handler := sold(t, memory.New(0), func(context.Context, []byte) ([]byte, error) {
		t.Error("it ran")
		return nil, nil
	})
	for _, request := range []string{``, `[]`, `{"ID":"o-1"}`, `{"DurableExecutionArn":"a"}`,
		`{"DurableExecutionArn":"a","InitialExecutionState":{"Operations":[{"Type":"STEP","ExecutionDetails":{"InputPayload":"{}"}}]}}`,
		`{"InitialExecutionState":{"Operations":[{"Type":"EXECUTION","ExecutionDetails":{"InputPayload":"{}"}}]}}`,
	} {
		_, err := handler(t.Context(), []byte(request))
		check.Is(t, err, durablefunc.ErrRequest, request)
	}
}

// An error, a panic and an unknown answer say nothing about the execution.
func TestDurableLeavesTheClaimWithoutAKnownResponse(t *testing.T) {
	for name, next := range map[string]func(context.Context, []byte) ([]byte, error){
		"error": func(context.Context, []byte) ([]byte, error) { return nil, &handlertest.DeclinedError{Code: "1"} },
		"permanent error": func(context.Context, []byte) ([]byte, error) {
			return nil, idempotent.Permanent(&handlertest.DeclinedError{Code: "1"})
		},
		"error of a replay": func(context.Context, []byte) ([]byte, error) { return nil, &idempotent.ReplayedError{Type: "x"} },
		"response with one": func(context.Context, []byte) ([]byte, error) {
			return []byte(failedResponse), &handlertest.DeclinedError{Code: "1"}
		},
		"panic":          func(context.Context, []byte) ([]byte, error) { panic("out of memory") },
		"no JSON":        answers(``),
		"another status": answers(`{"Status":"PAUSED"}`),
	} {
		store := memory.New(0)
		err := func() (err error) {
			defer func() {
				if recover() != nil {
					err = &handlertest.DeclinedError{Code: "panic"}
				}
			}()
			_, err = sold(t, store, next)(t.Context(), begun(t, "durable-request.json"))
			return err
		}()
		check.Failed(t, err, name)
		r := durableRecord(t, store)
		check.Equal(t, r.Status, driver.InProgress, name)
		check.Differ(t, r.Owner, "", name)
	}
}

// In unit tests nothing is claimed, and steps have their contexts all the same.
func TestDisabledDurableRunsEachInvocation(t *testing.T) {
	t.Setenv("ONCE_DISABLED", "true")
	store, runs := memory.New(0), 0
	handler := sold(t, store, func(ctx context.Context, _ []byte) ([]byte, error) {
		runs++
		durablefunc.InStep(ctx, "charge")
		return []byte(succeededResponse), nil
	})
	for range 2 {
		answered(t, handler, begun(t, "durable-request.json"), succeededResponse)
	}
	check.Equal(t, runs, 2)
	check.Equal(t, durableRecord(t, store).Status, driver.Absent)
}

func TestDurablePanicsWithAConfigError(t *testing.T) {
	for _, test := range map[string]struct {
		config  idempotent.Config
		timeout time.Duration
		want    string
	}{
		"no timeout":   {idempotent.Config{}, 0, "execution timeout"},
		"long timeout": {idempotent.Config{}, 367 * 24 * time.Hour, "execution timeout"},
		"Codec":        {idempotent.Config{Codec: otherCodec{}}, time.Hour, "Codec"},
		"FailOpen":     {idempotent.Config{OnStoreError: idempotent.FailOpen}, time.Hour, "FailOpen"},
		"Lease":        {idempotent.Config{Lease: time.Minute}, time.Hour, "Lease"},
		"Resume":       {idempotent.Config{Resume: true}, time.Hour, "its service resumes it"},
		"memory":       {idempotent.Config{ProviderMemory: time.Hour}, time.Hour, "Config.ProviderMemory: it may pause"},
		"Wait":         {idempotent.Config{Wait: time.Second}, time.Hour, "Wait"},
	} {
		handlertest.CheckMistakes(t, func() {
			durablefunc.Wrap(newExecutor(t, memory.New(0), &test.config), test.timeout, saleID, answers(pendingResponse), nil)
		}, test.want)
	}
	handlertest.CheckMistakes(t, func() { durablefunc.Wrap[sale](nil, 0, nil, nil, nil) }, "the executor is nil", "the key function is nil", "the handler is nil")
}

type otherCodec struct{ idempotent.JSON }

func TestDurableStepPanicsOutsideOfADurableFunction(t *testing.T) {
	panics := func(ctx context.Context, name string) (panicked bool) {
		defer func() { panicked = recover() != nil }()
		durablefunc.InStep(ctx, name)
		return false
	}
	answered(t, sold(t, memory.New(0), func(ctx context.Context, _ []byte) ([]byte, error) {
		check.False(t, panics(ctx, "charge"))
		check.True(t, panics(ctx, ""), "without a name")
		check.True(t, panics(context.Background(), "charge"), "outside")
		return []byte(pendingResponse), nil
	}), begun(t, "durable-request.json"), pendingResponse)
}
