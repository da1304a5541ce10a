package main

import (
	"os"
	"path/filepath"
	"testing"
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
