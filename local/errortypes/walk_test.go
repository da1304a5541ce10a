package errortypes

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func shop(t *testing.T) *Package {
	t.Helper()
	p, err := Parse("testdata/shop")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestBareErrorsAreFound(t *testing.T) {
	want := []string{"CasedAndMade", "Formatted", "Hidden", "HiddenSentinel", "Joined", "Made", "Sentinel", "store.get"}
	if got := slices.Sorted(maps.Keys(shop(t).Bare())); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if got := shop(t).Types(); !slices.Equal(got, []string{"SoldOutError"}) {
		t.Errorf("the exported types are %q", got)
	}
}

func TestErrorsWithoutASafeTextAreFound(t *testing.T) {
	if got := shop(t).Unsafe(); !slices.Equal(got, []string{"SoldOutError"}) {
		t.Errorf("found %q", got)
	}
}

// A reason for a function that is gone would hide a later one with its name.
func TestEveryBareErrorNeedsAReason(t *testing.T) {
	reasons := map[string]string{"[FHJS]*": "wrapped", "HiddenSentinel": "wrapped", "store.*": "wrapped", "Made": "", "Gone": "wrapped"}
	got := strings.Join(shop(t).Unexplained(reasons), "\n")
	for _, want := range []string{"CasedAndMade makes an error without", "Gone makes no such error", "Made makes an error without", "Made makes no such error"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if n := strings.Count(got, "\n") + 1; n != 4 {
		t.Errorf("%d faults:\n%s", n, got)
	}
}

func TestNoPackage(t *testing.T) {
	for _, dir := range []string{"testdata", "testdata/none"} {
		if _, err := Parse(dir); err == nil {
			t.Errorf("%s is a package", dir)
		}
	}
}
