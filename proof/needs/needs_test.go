package needs

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A machine is a folder with a link to each program on PATH, and programs in their place.
type machine struct{ path string }

func newMachine(t *testing.T, missing string, programs map[string]string) machine {
	t.Helper()
	m := machine{t.TempDir()}
	real, err := exec.LookPath("go")
	must(t, err)
	// A command that goes on although something is missing ends at its first use of go.
	programs["go"] = `[ "$1" = version ] && exec '` + real + `' version; echo "go $*"; case $* in *cmd/demo) exit 0 ;; esac; exit 9`
	for name, script := range programs {
		must(t, os.WriteFile(filepath.Join(m.path, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // PATH may name folders that are not there
		}
		for _, entry := range entries {
			link := filepath.Join(m.path, entry.Name())
			if _, err := os.Lstat(link); err == nil || strings.Contains(" "+missing+" ", " "+entry.Name()+" ") {
				continue
			}
			must(t, os.Symlink(filepath.Join(dir, entry.Name()), link))
		}
	}
	return m
}

// run runs make in the repository with nothing but the machine's programs.
func (m machine) run(t *testing.T, target string, env ...string) (out string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "make", "-C", "../..", target)
	command.Env = append(env, "PATH="+m.path, "HOME="+os.Getenv("HOME"))
	text, err := command.CombinedOutput()
	return string(text), err
}

func TestMakeTestNamesAllThatIsMissing(t *testing.T) {
	names := map[string]string{"node": "Node 22 with npm", "java docker": "Java 17, or Docker", "python3": "Python 3 with jmespath"}
	for missing, name := range names {
		t.Run(missing, func(t *testing.T) {
			out, err := newMachine(t, missing, map[string]string{}).run(t, "test")
			refused(t, out, err, name)
		})
	}
	t.Run("all", func(t *testing.T) {
		out, err := newMachine(t, "node java docker python3 gcc git", map[string]string{}).run(t, "test")
		refused(t, out, err, "a C compiler", "git and bash")
		for _, name := range names {
			refused(t, out, err, name)
		}
	})
	t.Run("too old", func(t *testing.T) {
		old := map[string]string{"java": `echo 'openjdk version "11.0.2"' >&2`, "node": "echo v18.20.4", "docker": "exit 1"}
		out, err := newMachine(t, "", old).run(t, "test")
		refused(t, out, err, names["node"], names["java docker"])
	})
}

// refused checks that a command has ended with these names, and with the lines that install.
func refused(t *testing.T, out string, err error, names ...string) {
	t.Helper()
	if err == nil || strings.Contains(out, "== gofmt") {
		t.Errorf("it goes on: %v\n%s", err, out)
	}
	for _, name := range append(names, "make test needs, and does not find:\n", "\n    Debian: apt-get install -y ", "\n    macOS:  ") {
		if !strings.Contains(out, name) {
			t.Errorf("it does not say %q:\n%s", name, out)
		}
	}
}

func TestNothingIsInstalledUnasked(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	m := newMachine(t, "python3", map[string]string{"apt-get": `echo "$*" >>'` + log + `'`, "id": "echo 0"})
	if out, err := m.run(t, "test"); err == nil {
		t.Error(out)
	}
	if text, err := os.ReadFile(log); err == nil {
		t.Errorf("it has installed: %s", text)
	}
	if out, err := m.run(t, "test", "ONCE_INSTALL=1"); err == nil {
		t.Error(out)
	}
	if text, err := os.ReadFile(log); string(text) != "update\ninstall -y python3 python3-jmespath\n" {
		t.Errorf("ONCE_INSTALL=1 has installed: %s (%v)", text, err)
	}
}

func TestMakeDemoRunsWithoutJavaAndDocker(t *testing.T) {
	out, err := newMachine(t, "java docker", map[string]string{}).run(t, "demo")
	if err != nil || !strings.Contains(out, "Java 17, or Docker") || !strings.Contains(out, "in memory") || !strings.Contains(out, "go run ./local/cmd/demo") {
		t.Errorf("%v: %s", err, out)
	}
}

// A test that is skipped otherwise is silent: package notrun says it at the end. With
// REDISLOCAL_REAL, as in make test, emulated fails.
func TestOnlyShortRunsAndTheEmulatorSkip(t *testing.T) {
	files, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "grep", "-nE", "-B1", `\bt\.Skip(f|Now)?\(`, "--", "*_test.go").Output()
	must(t, err)
	lines := strings.Split(string(files), "\n")
	for i, line := range lines {
		if !strings.Contains(line, "t.Skip") || strings.HasPrefix(line, "proof/needs/") {
			continue
		}
		if before := lines[i-1]; !strings.Contains(before, "testing.Short()") && !strings.Contains(before, "emulated(t)") {
			t.Error(line)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
