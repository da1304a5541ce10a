package oncevet_test

import (
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// The examples, the code of README and the pages, and the tests of the handlers are
// correct, or say in a comment what they provoke. "make check" reads the examples, too;
// this test also reads what has most handlers.
func TestNothingInThisTreeIsReported(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the examples")
	}
	packages := 0
	for dir, patterns := range map[string][]string{"../../../examples": {"./..."}, "../../..": {"./handlers", "./idempotent"}} {
		loaded := load(t, dir, patterns...)
		packages += len(loaded)
		for _, d := range findings(t, loaded) {
			t.Errorf("%s: %s", d.at, d.message)
		}
	}
	check.True(t, packages > 20, "packages", packages)
}
