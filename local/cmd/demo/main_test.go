package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("TestDemoInMemory tells the same story without processes")
	}
	var out bytes.Buffer
	check.Nil(t, run(t.Context(), &out, "../../.."))
	check.True(t, strings.HasSuffix(out.String(), "\ncharges: 1\n"), "it does not end with its count of charges")
}

func TestDemoInMemory(t *testing.T) {
	var out bytes.Buffer
	check.Nil(t, inMemory(t.Context(), newTimeline(&out)))
	check.True(t, strings.HasSuffix(out.String(), "\ncharges: 1\n"), "it does not end with its count of charges")
}
