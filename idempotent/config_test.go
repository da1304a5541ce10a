package idempotent_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
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
		_, err := idempotent.New("op", memory.New(0), &config)
		check.Says(t, err, want)
	}
	for _, operation := range []string{"", "a#b", "a\nb", "a\xff", strings.Repeat("a", 256)} {
		_, err := idempotent.New(operation, memory.New(0), nil)
		check.Failed(t, err, operation)
	}
	_, err := idempotent.New("op", nil, nil)
	check.Failed(t, err, "a nil store is accepted")
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
