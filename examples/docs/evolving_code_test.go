package docs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// The statements of docs/evolving-code.md.

// version is a version of a function: an operation, and the request and result
// that it is compiled with.
func version[Req, Resp any](t *testing.T, store driver.Store, operation string, result Resp) func(id string, request Req) (Resp, bool, error) {
	t.Helper()
	x, err := idempotent.New(operation, store, nil)
	check.Must(t, err)
	return func(id string, request Req) (_ Resp, ran bool, err error) {
		got, err := idempotent.Do(t.Context(), x, idempotent.Key{ID: id, Payload: request}, func(context.Context) (Resp, error) {
			ran = true
			return result, nil
		})
		return got, ran, err
	}
}

func TestResultOfAnOlderVersionIsReplayed(t *testing.T) {
	type v1 struct{ ID, Note string }
	type v2 struct {
		ID    string
		Added int
	}
	type v3 struct{ ID int }
	store := memory.New(0)
	_, _, err := version[string](t, store, "op", v1{"p-1", "gone"})("k", "")
	check.Must(t, err)
	if got, ran, err := version[string](t, store, "op", v2{"new", 1})("k", ""); ran || err != nil || got != (v2{ID: "p-1"}) {
		t.Errorf("with fields added and removed: %+v, %t, %v", got, ran, err)
	}
	if _, ran, err := version[string](t, store, "op", v3{1})("k", ""); ran || !errors.Is(err, idempotent.ErrResultUnavailable) {
		t.Errorf("with a field of another type: %t, %v", ran, err)
	}
}

func TestPayloadOfAnOlderVersionIsCompared(t *testing.T) {
	type v1 struct{ Amount int }
	type optional struct {
		Amount int
		Note   string `json:",omitempty"`
	}
	type always struct {
		Amount int
		Note   string
	}
	store := memory.New(0)
	_, _, err := version[v1](t, store, "op", "paid")("k", v1{1})
	check.Must(t, err)
	if got, ran, err := version[optional](t, store, "op", "again")("k", optional{Amount: 1}); ran || err != nil || got != "paid" {
		t.Errorf("with a field that is left out when empty: %q, %t, %v", got, ran, err)
	}
	if _, ran, err := version[always](t, store, "op", "again")("k", always{Amount: 1}); ran || !errors.Is(err, idempotent.ErrKeyReused) {
		t.Errorf("with a field that is always written: %t, %v", ran, err)
	}
}

func TestRenamedOperationRunsAgain(t *testing.T) {
	store := memory.New(0)
	for _, operation := range []string{"pay", "create-payment"} {
		if _, ran, err := version[string](t, store, operation, "paid")("k", ""); !ran || err != nil {
			t.Errorf("%s: ran %t, %v", operation, ran, err)
		}
	}
}

func TestRenamedStepRunsAgain(t *testing.T) {
	x := executor(t, "op", nil)
	errLater := errors.New("after the step")
	keys := map[string]bool{}
	for _, name := range []string{"charge", "charge-card"} {
		_, err := idempotent.Do(t.Context(), x, idempotent.Key{ID: "k"}, func(ctx context.Context) (string, error) {
			_, err := idempotent.Step(ctx, name, func(ctx context.Context) (string, error) {
				keys[idempotent.DownstreamKey(ctx, "provider")] = true
				return "", nil
			})
			return "", errors.Join(err, errLater)
		})
		check.Is(t, err, errLater)
	}
	check.Equal(t, len(keys), 2, "keys that the service sees, one for each name")
}

func TestStepThatBecomesASagaStepIsUndone(t *testing.T) {
	x := executor(t, "op", nil)
	reserve := func(context.Context) (string, error) { return "r-1", nil }
	undone, errLater, errDeclined := "", errors.New("not for good"), errors.New("declined")
	for _, version := range []struct {
		step func(context.Context) error
		err  error
	}{
		{func(ctx context.Context) error { _, err := idempotent.Step(ctx, "reserve", reserve); return err }, errLater},
		{func(ctx context.Context) error {
			_, err := idempotent.SagaStep(ctx, "reserve", reserve, func(_ context.Context, id string) error { undone = id; return nil })
			return err
		}, idempotent.Permanent(errDeclined)},
	} {
		_, err := idempotent.Do(t.Context(), x, idempotent.Key{ID: "k"}, func(ctx context.Context) (string, error) {
			return "", errors.Join(version.step(ctx), version.err)
		})
		if !errors.Is(err, errLater) && !errors.Is(err, errDeclined) {
			t.Error(err)
		}
	}
	check.Equal(t, undone, "r-1", "undone")
}
