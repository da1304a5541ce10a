package powertools_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/powertools"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/powertoolsjs"
)

// A request asks a peer for the key of an event.
type request struct {
	Event      string `json:"event"` // JSON text
	Prefix     string `json:"prefix"`
	Path       string `json:"path"`
	Validation string `json:"validation"`
	Hash       string `json:"hash"`
	Strict     bool   `json:"strict"` // throwOnNoIdempotencyKey
	Lowercase  string `json:"lowercase,omitempty"`
}

// An answer is what a peer, or this package, computes.
type answer struct {
	Record     string `json:"record"`
	Validation string `json:"validation"`
	Missing    bool   `json:"missing"`
	Error      string `json:"error"`
	Lowercase  string `json:"lowercase"`
}

// ask sends requests to a peer, one process for all, and returns its answers.
func ask(t *testing.T, peer *exec.Cmd, requests []request) []answer {
	t.Helper()
	in, err := peer.StdinPipe()
	check.Must(t, err)
	out, err := peer.StdoutPipe()
	check.Must(t, err)
	peer.Stderr = os.Stderr
	check.Must(t, peer.Start())
	sent := make(chan error, 1)
	go func() {
		lines := json.NewEncoder(in)
		for _, r := range requests {
			if err := lines.Encode(r); err != nil {
				sent <- err
				return
			}
		}
		sent <- in.Close()
	}()
	answers := make([]answer, len(requests))
	lines := json.NewDecoder(out)
	for i := range answers {
		check.Must(t, lines.Decode(&answers[i]), "answer", i, peer.Args)
	}
	check.Must(t, errors.Join(<-sent, peer.Wait()))
	return answers
}

// typescript returns Powertools itself, on Node.
func typescript(t *testing.T) *exec.Cmd {
	t.Helper()
	peer, err := powertoolsjs.Keys(t.Context(), os.Stderr)
	check.Must(t, err)
	return peer
}

// interpreter finds a Python 3 with jmespath. With ONCE_INSTALL=1, it installs one first.
var interpreter = sync.OnceValues(func() (string, error) {
	if out, err := exec.Command("sh", "../../local/needs.sh", "python").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	if exec.Command("python3", "-c", "import jmespath").Run() == nil {
		return "python3", nil
	}
	return "/usr/bin/python3", nil
})

// python returns the calls that Powertools for Python makes, on Python.
func python(t *testing.T) *exec.Cmd {
	t.Helper()
	name, err := interpreter()
	check.Must(t, err)
	return exec.CommandContext(t.Context(), name, "testdata/keys.py")
}

// both calls a test for each dialect that has a peer, with a function that asks it.
func both(t *testing.T, test func(t *testing.T, d powertools.Dialect, ask func([]request) []answer)) {
	t.Run("TypeScript", func(t *testing.T) {
		test(t, powertools.TypeScript, func(r []request) []answer { return ask(t, typescript(t), r) })
	})
	t.Run("Python", func(t *testing.T) {
		test(t, powertools.Python, func(r []request) []answer { return ask(t, python(t), r) })
	})
}

// compute returns what this package answers.
func compute(d powertools.Dialect, r request) answer {
	keyer, err := powertools.New(d, r.Prefix, r.Path, &powertools.Options{
		Hash: hashes[r.Hash], HashMissing: d == powertools.TypeScript && !r.Strict, Validation: r.Validation,
	})
	if err != nil {
		return answer{Error: err.Error()}
	}
	key, err := keyer.Key([]byte(r.Event))
	switch {
	case errors.Is(err, idempotent.ErrMissingKey):
		return answer{Missing: true}
	case err != nil:
		return answer{Error: err.Error()}
	}
	return answer{Record: key.Record, Validation: key.Fingerprint}
}

// agree compares the answers of a peer with this package's. Errors have other
// texts.
func agree(t *testing.T, d powertools.Dialect, requests []request, want []answer) {
	t.Helper()
	failures := 0
	for i, r := range requests {
		got := compute(d, r)
		if got.Error != "" && want[i].Error != "" || got == want[i] {
			continue
		}
		if failures++; failures <= 10 {
			t.Errorf("%s of %.300s:\n got %+v\nwant %+v", r.Path, r.Event, got, want[i])
		}
	}
	check.Equal(t, failures, 0, failures, len(requests), "keys differ")
}
