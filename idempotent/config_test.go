package idempotent_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

func TestNewRefusesMistakes(t *testing.T) {
	for want, config := range map[string]idempotent.Config{
		"CacheBytes":         {CacheBytes: -1},
		"CacheEntries":       {CacheEntries: -1},
		"ClockSkew":          {ClockSkew: -time.Second},
		"Lease":              {Lease: 999 * time.Millisecond},
		"MaxAttempts":        {MaxAttempts: -1},
		"OnMissingKey":       {OnMissingKey: 2},
		"OnStoreError":       {OnStoreError: 2},
		"PayloadAbove is -1": {Payloads: newShelf(), PayloadAbove: -1},
		"without Payloads":   {PayloadAbove: 1},
		"Reserve":            {Reserve: -1},
		"Retention":          {Retention: time.Second - 1},
		"Wait":               {Wait: -1},
		"FailOpen":           {OnStoreError: idempotent.FailOpen, MaxAttempts: 1},
	} {
		if _, err := idempotent.New("op", memory.New(0), &config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, operation := range []string{"", "a#b", "a\nb", "a\xff", strings.Repeat("a", 256)} {
		if _, err := idempotent.New(operation, memory.New(0), nil); err == nil {
			t.Errorf("the operation %q is accepted", operation)
		}
	}
	if _, err := idempotent.New("op", nil, nil); err == nil {
		t.Error("a nil store is accepted")
	}
	t.Setenv("ONCE_DISABLED", "perhaps")
	if _, err := idempotent.New("op", memory.New(0), nil); err == nil {
		t.Error("ONCE_DISABLED=perhaps is accepted")
	}
}

// All mistakes are reported at once.
func TestNewReportsAllMistakes(t *testing.T) {
	_, err := idempotent.New("", nil, &idempotent.Config{Wait: -1, MaxAttempts: -1})
	for _, want := range []string{"operation", "store", "Wait", "MaxAttempts"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %s in %v", want, err)
		}
	}
}

func TestNewCopiesItsConfig(t *testing.T) {
	config := &idempotent.Config{MaxAttempts: 1}
	x := newExecutor(t, memory.New(0), config)
	config.MaxAttempts = 0
	if _, _, err := do(t.Context(), x, failsWith(idempotent.ErrInProgress)); err == nil {
		t.Fatal("no error")
	}
	if _, _, err := do(t.Context(), x, mustNotRun(t)); err == nil {
		t.Error("the change of the config took effect")
	}
}

// New reports a Reserve that no default lease can hold, or that overflows.
func TestNewRefusesAReserveBeyondTheLease(t *testing.T) {
	for _, config := range []*idempotent.Config{
		{Reserve: 2 * time.Minute},
		{Reserve: math.MaxInt64, Lease: time.Hour},
	} {
		x, err := idempotent.New("op", memory.New(0), config)
		if err == nil {
			_, _, err = do(t.Context(), x, returns("done"))
			t.Errorf("Reserve %v, Lease %v: New accepts it, and each call gets %v", config.Reserve, config.Lease, err)
		}
	}
}
