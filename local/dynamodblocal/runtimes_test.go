package dynamodblocal

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

func TestParseJavaVersion(t *testing.T) {
	for out, want := range map[string]int{
		"openjdk version \"17.0.15\" 2025-04-15\nOpenJDK Runtime": 17,
		"java version \"1.8.0_422\"":                              8,
		"openjdk version \"25\" 2025-09-16":                       25,
		"openjdk version \"21-ea\" 2023-09-19":                    21,
	} {
		got, err := parseJavaVersion(out)
		check.Nil(t, err, out)
		check.Equal(t, got, want, out)
	}
	_, err := parseJavaVersion("The operation couldn't be completed.")
	check.Failed(t, err, "found a version where there is none")
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
			var typed *NoRuntimeError
			if !errors.Is(err, ErrNoRuntime) || !errors.As(err, &typed) {
				t.Fatalf("got %v", err)
			}
			if name == "java" && !strings.Contains(typed.Java.Error(), "older than 17") {
				t.Errorf("got %v", typed.Java)
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
	c, err := (&Options{}).withDefaults()
	check.Must(t, err)
	program, err := install(t.Context(), c)
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
