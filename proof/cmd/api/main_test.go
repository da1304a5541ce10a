package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

const root = "../../.."

func TestTextsAreThoseOfTheCode(t *testing.T) {
	texts, err := describeAll(root)
	if err != nil || len(texts) < 20 {
		t.Fatalf("%d packages, %v", len(texts), err)
	}
	for name, text := range texts {
		stored, err := os.ReadFile(filepath.Join(root, "api", name))
		if err != nil || string(stored) != text {
			t.Errorf("api/%s is stale (%v): run go -C proof generate ./cmd/api, and describe a change for users in CHANGELOG.md", name, err)
		}
	}
	stale, err := staleFiles(filepath.Join(root, "api"), texts)
	if err != nil || len(stale) > 0 {
		t.Errorf("packages that are gone: %v, %v", stale, err)
	}
}

func TestDescriptionHasWhatUsersSee(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(`package a

import "errors"

// Err is a sentinel.
var Err = errors.New("a")

type T struct {
	A int // seen
	b int
}

func (t *T) M(n int) error { return nil }

type hidden struct{ A int }

func (hidden) M() {}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := describe(dir, []string{"a.go"})
	check.Must(t, err)
	for _, seen := range []string{"var Err\n", "A int", "func (t *T) M(n int) error\n"} {
		check.Contains(t, text, seen)
	}
	for _, unseen := range []string{"b int", "hidden", "errors", "return"} {
		check.Lacks(t, text, unseen)
	}
}
