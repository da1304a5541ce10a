// Package notrun reports parts of tests that a machine cannot run. make test prints them at
// its end, because go test says nothing of a skipped test.
package notrun

import (
	"errors"
	"fmt"
	"os"
	"testing"
)

// Say adds a line to the file in ONCE_NOT_RUN, with the name of the test. The caller skips
// the part. make test makes a file for each run, so a cached result hides no line.
func Say(t testing.TB, reason string) {
	t.Helper()
	t.Log("did not run: " + reason)
	if name := os.Getenv("ONCE_NOT_RUN"); name != "" {
		file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			_, err = fmt.Fprintf(file, "%s: %s\n", t.Name(), reason)
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			t.Error(err)
		}
	}
}
