package dynamodblocal

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/serving"
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

// Not every build has an engine, so a script replaces the docker command. It runs the
// program that the image contains.
func TestDocker(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server of its own")
	}
	java, err := findJava(t.Context())
	check.Must(t, err)
	cache, err := os.UserCacheDir()
	check.Must(t, err)
	program, err := install(t.Context(), serving.Options{CacheDir: filepath.Join(cache, "once", "dynamodb-local"), Log: io.Discard})
	check.Must(t, err)
	calls := filepath.Join(t.TempDir(), "calls")
	t.Setenv("CALLS", calls)
	script(t, "docker", `echo "$@" >>"$CALLS"
if [ "$1" = run ]; then
	port=${6#127.0.0.1:}
	exec `+java+` -jar `+program+`/DynamoDBLocal.jar -inMemory -sharedDb -port ${port%:8000}
fi`)
	server, err := Start(t.Context(), &Options{CacheDir: t.TempDir(), Log: io.Discard})
	check.Must(t, err)
	check.Must(t, server.Stop())
	got, err := os.ReadFile(calls)
	check.Must(t, err)
	lines := strings.Split(strings.TrimSpace(string(got)), "\n")
	for i, want := range []string{"version", "pull --quiet " + dockerImage, "run --rm --name once-dynamodb-", "rm --force once-dynamodb-"} {
		check.True(t, i < len(lines), i)
		check.True(t, strings.HasPrefix(lines[i], want))
	}
}
