package idempotent_test

import (
	"log/slog"
	"os"
	"testing"
)

// TestMain silences the default Observer: nearly every test has calls that end
// badly. Those that look at what it logs set a logger of their own.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}
