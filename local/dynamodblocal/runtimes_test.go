package dynamodblocal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

func TestFindJava(t *testing.T) {
	for out, want := range map[string]string{
		`openjdk version "17.0.15" 2025-04-15`:  "",
		`java version "1.8.0_422"`:              "version 8, older than 17",
		`openjdk version "25" 2025-09-16`:       "",
		`openjdk version "21-ea" 2023-09-19`:    "",
		`The operation could not be completed.`: "no version",
	} {
		script(t, "java", "echo '"+out+"' >&2")
		if _, err := findJava(t.Context()); want == "" {
			check.Nil(t, err, out)
		} else {
			check.Says(t, err, want)
		}
	}
}

// script puts a program of that name on an otherwise empty PATH.
func script(t *testing.T, name, text string) {
	t.Helper()
	dir := t.TempDir()
	check.Must(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	t.Setenv("PATH", dir)
	t.Setenv("JAVA_HOME", "")
	t.Setenv(endpointVar, "")
}

func TestNoRuntime(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "",
		"java":    `echo 'openjdk version "11.0.2"' >&2`,
		"docker":  `echo 'Cannot connect to the Docker daemon' >&2; exit 1`,
	} {
		t.Run(name, func(t *testing.T) {
			script(t, name, text)
			_, err := Start(t.Context(), &Options{CacheDir: t.TempDir()})
			check.Is(t, err, ErrNoRuntime)
			if name == "java" {
				check.Says(t, err, "older than 17")
			}
		})
	}
}
