package storetest_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/idempotent/storetest"
	"github.com/lambda-once/once/internal/check"
)

// breakEnv names the breakage of the store that TestStore runs with.
const breakEnv = "ONCE_STORETEST_BREAK"

// TestStore passes on a sound store. TestBroken runs it on broken ones, each
// in a process of its own: a test cannot expect another one to fail.
func TestStore(t *testing.T) {
	var found *breakage
	if name := os.Getenv(breakEnv); name != "" {
		for _, b := range breakages {
			if b.name == name {
				found = &b
			}
		}
		if found == nil {
			t.Fatalf("%s: no breakage %q", breakEnv, name)
		}
	}
	storetest.Run(t, func(*testing.T) storetest.Harness {
		m := memory.New(0)
		h := storetest.Harness{
			Store: m,
			Plant: func(t *testing.T, r driver.Record) {
				check.Must(t, m.Put(r))
			},
			Depth: 3,
		}
		if found != nil {
			h.Store = &broken{Store: m, breakage: *found}
			h.Depth = max(h.Depth, found.depth)
		}
		return h
	})
}

func TestBroken(t *testing.T) {
	for _, b := range breakages {
		t.Run(b.name, func(t *testing.T) { fails(t, "TestStore", b.name, b.fails...) })
	}
}

// fails expects that the subtests of a test fail with a breakage.
func fails(t *testing.T, test, breakage string, subtests ...string) {
	t.Parallel()
	self, err := os.Executable()
	check.Must(t, err)
	run := exec.CommandContext(t.Context(), self, "-test.run=^"+test+"$", "-test.timeout=2m")
	run.Env = append(os.Environ(), breakEnv+"="+breakage)
	out, err := run.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("%v; want a failed test\n%s", err, tail(string(out)))
	}
	for _, name := range subtests {
		check.Contains(t, string(out), "--- FAIL: "+test+"/"+name+" (", "did not fail")
	}
}

func tail(out string) string {
	var failed []string
	for line := range strings.Lines(out) {
		if strings.Contains(line, "FAIL") || strings.HasPrefix(line, "panic") {
			failed = append(failed, line)
		}
	}
	return strings.Join(failed, "")
}
