package errortypes

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

func shop(t *testing.T) *Package {
	t.Helper()
	p, err := Parse("testdata/shop")
	check.Must(t, err)
	return p
}

func TestBareErrorsAreFound(t *testing.T) {
	want := []string{"CasedAndMade", "Formatted", "Hidden", "HiddenSentinel", "Joined", "Made", "Sentinel", "store.get"}
	check.Slice(t, slices.Sorted(maps.Keys(shop(t).Bare())), want)
	check.Slice(t, shop(t).Types(), []string{"SoldOutError"})
}

func TestErrorsWithoutASafeTextAreFound(t *testing.T) {
	check.Slice(t, shop(t).Unsafe(), []string{"SoldOutError"})
}

// A reason for a function that is gone would hide a later one with its name.
func TestEveryBareErrorNeedsAReason(t *testing.T) {
	reasons := map[string]string{"[FHJS]*": "wrapped", "HiddenSentinel": "wrapped", "store.*": "wrapped", "Made": "", "Gone": "wrapped"}
	got := strings.Join(shop(t).Unexplained(reasons), "\n")
	for _, want := range []string{"CasedAndMade makes an error without", "Gone makes no such error", "Made makes an error without", "Made makes no such error"} {
		check.Contains(t, got, want)
	}
	check.Equal(t, strings.Count(got, "\n")+1, 4)
}

func TestNoPackage(t *testing.T) {
	for _, dir := range []string{"testdata", "testdata/none"} {
		_, err := Parse(dir)
		check.Failed(t, err, "is a package", dir)
	}
}
