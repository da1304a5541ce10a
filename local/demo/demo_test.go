package demo

import (
	"bytes"
	"strings"
	"testing"
)

func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("TestDemoInMemory tells the same story without processes")
	}
	var out bytes.Buffer
	if err := Run(t.Context(), &out, "../.."); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	if !strings.HasSuffix(out.String(), "\ncharges: 1\n") {
		t.Errorf("it does not end with its count of charges:\n%s", out.String())
	}
}

func TestDemoInMemory(t *testing.T) {
	var out bytes.Buffer
	if err := inMemory(t.Context(), newTimeline(&out)); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	if !strings.HasSuffix(out.String(), "\ncharges: 1\n") {
		t.Errorf("it does not end with its count of charges:\n%s", out.String())
	}
}
