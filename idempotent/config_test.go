package idempotent_test

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

func TestNewRefusesMistakes(t *testing.T) {
	for want, config := range map[string]idempotent.Config{
		"CacheEntries":      {CacheEntries: -1},
		"ClockSkew":         {ClockSkew: -time.Second},
		"Lease":             {Lease: 999 * time.Millisecond},
		"MaxAttempts":       {MaxAttempts: -1},
		"OnMissingKey":      {OnMissingKey: 2},
		"OnStoreError":      {OnStoreError: 2},
		"Margin":            {Margin: -1},
		"Margin is 2ns":     {Margin: 2},
		"Reserve":           {Reserve: -1},
		"Retention":         {Retention: time.Second - 1},
		"Wait":              {Wait: -1},
		"ClockSkew is 5ns":  {ClockSkew: 5},
		"Reserve is 500ns":  {Reserve: 500},
		"Wait is 999.999µs": {Wait: time.Millisecond - 1},
		"FailOpen":          {OnStoreError: idempotent.FailOpen, MaxAttempts: 1},

		"twice the Reserve of 2m0s": {Reserve: 2 * time.Minute}, // which no default lease can hold
		"twice the Reserve of 2562": {Reserve: math.MaxInt64, Lease: time.Hour},
		"Optimistic with MaxAtt":    {Optimistic: true, MaxAttempts: 1},
		"Optimistic with FailOpen":  {Optimistic: true, OnStoreError: idempotent.FailOpen},
		"Optimistic needs a store":  {Optimistic: true},

		"ProviderMemory is 1.5s, not longer": {ProviderMemory: 1500 * time.Millisecond},
		"ProviderMemory is -1ns, not longer": {ProviderMemory: -1},
		"ProviderMemory is 6s, not longer":   {ProviderMemory: 6 * time.Second, ClockSkew: time.Second, Reserve: 5 * time.Second},
		"ProviderMemory with Optimistic":     {ProviderMemory: time.Hour, Optimistic: true},
		"ProviderMemory with FailOpen":       {ProviderMemory: time.Hour, OnStoreError: idempotent.FailOpen},
		"Resume with Optimistic":             {Resume: true, Optimistic: true},

		"RefuseLate with a Retention of 1s":  {RefuseLate: true, Retention: time.Second},
		"RetentionBefore without RefuseLate": {RetentionBefore: idempotent.RetentionBefore{Retention: time.Hour, Until: time.Now()}},
		"RetentionBefore needs Until":        {RefuseLate: true, RetentionBefore: idempotent.RetentionBefore{Retention: time.Hour}},
		"Until, and a Retention":             {RefuseLate: true, RetentionBefore: idempotent.RetentionBefore{Until: time.Now()}},
		"a Retention below 24h0m0s":          {RefuseLate: true, RetentionBefore: idempotent.RetentionBefore{Retention: 24 * time.Hour, Until: time.Now()}},
	} {
		_, err := idempotent.New("op", memory.New(0), &config)
		check.Says(t, err, want)
	}
	newExecutor(t, memory.New(0), &idempotent.Config{ProviderMemory: 1501 * time.Millisecond})
	for _, operation := range []string{"", "a#b", "a\nb", "a\xff", strings.Repeat("a", 256)} {
		_, err := idempotent.New(operation, memory.New(0), nil)
		check.Failed(t, err, operation)
	}
	_, err := idempotent.New("op", nil, nil)
	check.Failed(t, err, "a nil store is accepted")
	var none *memory.Store // as after an error of its constructor
	_, err = idempotent.New("op", none, nil)
	check.Says(t, err, "the store is a nil *memory.Store")
	t.Setenv("ONCE_DISABLED", "perhaps")
	_, err = idempotent.New("op", memory.New(0), nil)
	check.Failed(t, err, "ONCE_DISABLED=perhaps is accepted")
}

// All mistakes are reported at once.
func TestNewReportsAllMistakes(t *testing.T) {
	_, err := idempotent.New("", nil, &idempotent.Config{Wait: -1, MaxAttempts: -1})
	for _, want := range []string{"operation", "store", "Wait", "MaxAttempts"} {
		check.Says(t, err, want)
	}
}

func TestNewCopiesItsConfig(t *testing.T) {
	config := &idempotent.Config{MaxAttempts: 1}
	x := newExecutor(t, memory.New(0), config)
	config.MaxAttempts = 0
	try(t.Context(), t, x, failsWith(idempotent.ErrInProgress)).failed()
	try(t.Context(), t, x, mustNotRun(t)).failed()
}

type indented struct{ idempotent.JSON }

func (indented) Encode(result any) ([]byte, error) { return json.MarshalIndent(result, "", " ") }

// What another library cannot read or keep is refused when the function
// starts, all of it at once.
func TestSharedRefusesWhatAnotherLibraryCannotKeep(t *testing.T) {
	_, err := idempotent.New("op", memory.New(0), adapter.Shared(&idempotent.Config{
		Codec: indented{}, MaxAttempts: 3, Payloads: newShelf(), ProviderMemory: time.Hour, RefuseLate: true, Resume: true, Sealer: &backwards{},
	}))
	check.As[*driver.ConfigError](t, err)
	for _, want := range []string{"Codec with shared records: ", "MaxAttempts is 3 with shared records: ", "Payloads with shared records: ", "ProviderMemory with shared records: ", "RefuseLate with shared records: ", "Resume with shared records: ", "Sealer with shared records: "} {
		check.Says(t, err, want)
	}
}

// The other library has no failed records.
func TestSharedReleasesPermanentErrors(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, adapter.Shared(nil))
	try(t.Context(), t, x, failsWith(idempotent.Permanent(errNetwork))).is(errNetwork)
	check.Equal(t, stored(t, store).Status, driver.Absent)
}

// A step is refused before it has an effect, and the call with it, even if the
// handler ignores the error.
func TestSharedRefusesStepsBeforeTheyRun(t *testing.T) {
	store := memory.New(0)
	r := try(t.Context(), t, newExecutor(t, store, adapter.Shared(nil)), func(ctx context.Context) (string, error) {
		_, err := idempotent.SagaStep(ctx, "charge", mustNotRun(t), func(context.Context, string) error { return nil })
		check.Is(t, err, idempotent.ErrStep, "the step returns")
		return "done", nil
	})
	refused := check.As[*idempotent.StepError](t, r.err)
	check.Contains(t, refused.Reason, "another library shares the record")
	recordIs(t, store, "no record")
}

// A downstream key needs nothing in the record.
func TestSharedHasDownstreamKeys(t *testing.T) {
	x := newExecutor(t, memory.New(0), adapter.Shared(nil))
	keys := map[string]bool{}
	for range 2 {
		try(t.Context(), t, x, func(ctx context.Context) (string, error) {
			keys[idempotent.DownstreamKey(ctx, "charge")] = true
			return "", errNetwork
		}).is(errNetwork)
	}
	check.Equal(t, len(keys), 1)
}
