package durablefunc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

func durableRecord(t *testing.T, store driver.Store) driver.Record {
	t.Helper()
	id, err := idempotent.Key{ID: "o-1"}.RecordID("create-payment")
	if err != nil {
		t.Fatal(err)
	}
	r, err := store.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
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
			handler := lambda.NewHandler(durablefunc.Wrap(newExecutor(t, store, nil), time.Hour, saleID, func(_ context.Context, got []byte) ([]byte, error) {
				if !bytes.Equal(got, request) {
					t.Errorf("%s: the function received %s", name, got)
				}
				return []byte(test.response), nil
			}, nil))
			if got, err := handler.Invoke(t.Context(), request); err != nil || string(got) != test.response {
				t.Errorf("%s: %s, %v", name, got, err)
			}
			if r := durableRecord(t, store); r.Status != test.status || (r.Owner != "") != test.owned {
				t.Errorf("%s, %s: it left %+v", name, test.response, r)
			}
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
			handler := durablefunc.Wrap(newExecutor(t, store, nil), time.Hour, saleID, answers(pendingResponse), nil)
			if _, err := handler(t.Context(), test.request); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if r := durableRecord(t, store); !r.Lease.Equal(test.want.Add(time.Hour + time.Second)) {
				t.Errorf("%s: the lease ends %v", name, r.Lease)
			}
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
	handler := durablefunc.Wrap(newExecutor(t, store, nil), time.Hour, saleID, func(context.Context, []byte) ([]byte, error) {
		runs++
		return []byte(succeededResponse), nil
	}, nil)
	if _, err := handler(t.Context(), input(`{\"ID\":\"o-1\",\"Cents\":1}`)); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{\"ID\":\"o-1\",\"Cents\":2}`:   "KeyReusedError",
		`{\"ID\":\"\"}`:                  "MissingKeyError",
		`{\"ID\":\"a\\tb\"}`:             "InvalidKeyError",
		`{\"ID\":\"o-2\",\"Cents\":\"`:   "DecodeError",
		`{\"ID\":\"o-2\",\"Cents\":[1]}`: "DecodeError",
	} {
		got, err := handler(t.Context(), input(text))
		var response struct {
			Status string
			Error  struct{ ErrorType, ErrorMessage string }
		}
		if err != nil || json.Unmarshal(got, &response) != nil || response.Status != "FAILED" || response.Error.ErrorType != want || response.Error.ErrorMessage == "" {
			t.Errorf("%s: %s, %v", text, got, err)
		}
		if strings.Contains(string(got), "o-2") {
			t.Errorf("it quotes the key: %s", got)
		}
	}
	if runs != 1 {
		t.Errorf("%d runs", runs)
	}
}

// A replay for another execution, and for the same one.
func TestDurableReplaysTheResponse(t *testing.T) {
	store := memory.New(0)
	handler := durablefunc.Wrap(newExecutor(t, store, nil), time.Hour, saleID, answers(succeededResponse), nil)
	for _, request := range []string{"durable-request.json", "durable-request.json", "durable-request-paged.json"} {
		got, err := handler(t.Context(), begun(t, request))
		var response struct{ Status, Result string }
		if err != nil || json.Unmarshal(got, &response) != nil || response.Status != "SUCCEEDED" || response.Result != `{"Receipt":"r<1>"}` {
			t.Errorf("%s, %v", got, err)
		}
	}
}

// Another kind of handler has stored its own result under the key. No retry would
// find another one.
func TestDurableReplaysNothingThatIsNoResponse(t *testing.T) {
	for _, result := range []string{`{"Receipt":"r"}`, pendingResponse, failedResponse, `"x"`} {
		x := newExecutor(t, memory.New(0), nil)
		if _, err := idempotent.Do(t.Context(), x, idempotent.Key{ID: "o-1"}, func(context.Context) (json.RawMessage, error) { return json.RawMessage(result), nil }); err != nil {
			t.Fatal(err)
		}
		got, err := durablefunc.Wrap(x, time.Hour, saleID, answers(succeededResponse), nil)(t.Context(), begun(t, "durable-request.json"))
		if err != nil || !strings.HasPrefix(string(got), `{"Status":"FAILED","Error":{"ErrorType":"ResultUnavailableError",`) {
			t.Errorf("%s: %s, %v", result, got, err)
		}
	}
}

func TestDurableRefusesOtherInvocations(t *testing.T) {
	handler := durablefunc.Wrap(newExecutor(t, memory.New(0), nil), time.Hour, saleID, func(context.Context, []byte) ([]byte, error) {
		t.Error("it ran")
		return nil, nil
	}, nil)
	for _, request := range []string{``, `[]`, `{"ID":"o-1"}`, `{"DurableExecutionArn":"a"}`,
		`{"DurableExecutionArn":"a","InitialExecutionState":{"Operations":[{"Type":"STEP","ExecutionDetails":{"InputPayload":"{}"}}]}}`,
		`{"InitialExecutionState":{"Operations":[{"Type":"EXECUTION","ExecutionDetails":{"InputPayload":"{}"}}]}}`,
	} {
		if _, err := handler(t.Context(), []byte(request)); !errors.Is(err, durablefunc.ErrRequest) {
			t.Errorf("%s: %v", request, err)
		}
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
			_, err = durablefunc.Wrap(newExecutor(t, store, nil), time.Hour, saleID, next, nil)(t.Context(), begun(t, "durable-request.json"))
			return err
		}()
		if r := durableRecord(t, store); err == nil || r.Status != driver.InProgress || r.Owner == "" {
			t.Errorf("%s: %v, and it left %+v", name, err, r)
		}
	}
}

// In unit tests nothing is claimed, and steps have their contexts all the same.
func TestDisabledDurableRunsEachInvocation(t *testing.T) {
	t.Setenv("ONCE_DISABLED", "true")
	store, runs := memory.New(0), 0
	handler := durablefunc.Wrap(newExecutor(t, store, nil), time.Hour, saleID, func(ctx context.Context, _ []byte) ([]byte, error) {
		runs++
		durablefunc.InStep(ctx, "charge")
		return []byte(succeededResponse), nil
	}, nil)
	for range 2 {
		if got, err := handler(t.Context(), begun(t, "durable-request.json")); err != nil || string(got) != succeededResponse {
			t.Errorf("%s, %v", got, err)
		}
	}
	if r := durableRecord(t, store); runs != 2 || r.Status != driver.Absent {
		t.Errorf("%d runs left %+v", runs, r)
	}
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
	handler := durablefunc.Wrap(newExecutor(t, memory.New(0), nil), time.Hour, saleID, func(ctx context.Context, _ []byte) ([]byte, error) {
		if panics(ctx, "charge") || !panics(ctx, "") || !panics(context.Background(), "charge") {
			t.Error("it panics in the wrong places")
		}
		return []byte(pendingResponse), nil
	}, nil)
	if _, err := handler(t.Context(), begun(t, "durable-request.json")); err != nil {
		t.Error(err)
	}
}
