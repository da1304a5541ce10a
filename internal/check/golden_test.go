package check_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

func TestGoldenComparesWithItsSection(t *testing.T) {
	file := filepath.Join(t.TempDir(), "texts.golden")
	check.Golden(t, file, "b", "2\n", true)
	check.Golden(t, file, "a c", "1\n\n", true)
	text, err := os.ReadFile(file)
	check.Must(t, err)
	check.Equal(t, string(text), "== a c ==\n1\n\n== b ==\n2\n")
	check.Golden(t, file, "a c", "1\n\n", false)
	check.Golden(t, file, "b", "2\n", false)
	for name, got := range map[string]string{"b": "3\n", "absent": ""} {
		var bad recorder
		check.Golden(&bad, file, name, got, false)
		check.Equal(t, len(bad.texts), 1, name)
	}
}
