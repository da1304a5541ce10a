package postgreslocal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/local/serving"
)

func TestMain(m *testing.M) {
	if os.Getenv("POSTGRESLOCAL_PARENT") != "" {
		parent()
	}
	if len(os.Args) > 5 && os.Args[1] == "run" {
		container(os.Args[6])
	}
	os.Exit(Main(m))
}

// parent starts a server, prints its URL, and waits to be killed.
func parent() {
	s, err := Start(context.Background(), nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.URL())
	select {}
}

// container stands for a container: it forwards connections to the running server.
func container(publish string) {
	u, err := url.Parse(os.Getenv(urlVar + "_BEHIND"))
	if err != nil {
		panic(err)
	}
	l, err := net.Listen("tcp", strings.TrimSuffix(publish, ":5432"))
	if err != nil {
		panic(err)
	}
	for {
		from, err := l.Accept()
		if err != nil {
			panic(err)
		}
		to, err := net.Dial("tcp", u.Host)
		if err != nil {
			panic(err)
		}
		go io.Copy(to, from)
		go io.Copy(from, to)
	}
}

func TestNewDatabaseIsEmptyAndItsOwn(t *testing.T) {
	one, other := NewDatabase(t), NewDatabase(t)
	if one == other || !strings.Contains(one, "/t_testnewdatabaseisemptyanditsown_") {
		t.Errorf("databases %q and %q", one, other)
	}
	if err := execute(t.Context(), one, "CREATE TABLE a (id text)", "INSERT INTO a VALUES ('x')"); err != nil {
		t.Fatal(err)
	}
	if err := execute(t.Context(), other, "SELECT * FROM a"); err == nil || !strings.Contains(err.Error(), "42P01") {
		t.Errorf("the other database knows the table: %v", err)
	}
}

func TestRunReturnsRowsAsText(t *testing.T) {
	got, err := Run(t.Context(), NewDatabase(t), "SELECT 1", "VALUES (1, 'a b', NULL), (2, '', true)")
	if want := [][]string{{"1", "a b", ""}, {"2", "", "t"}}; err != nil || !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestNewDatabaseIsDroppedUnderItsConnections(t *testing.T) {
	var database string
	var conn connection
	t.Run("inner", func(t *testing.T) {
		database = NewDatabase(t)
		var err error
		if conn, err = connect(t.Context(), database); err != nil {
			t.Fatal(err)
		}
	})
	if _, err := conn.untilReady(); err == nil {
		t.Error("the connection outlived its database")
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if err := execute(t.Context(), database); err == nil || !strings.Contains(err.Error(), "3D000") {
		t.Errorf("the database outlived its test: %v", err)
	}
}

func TestNewDatabaseWithoutAServer(t *testing.T) {
	t.Setenv(urlVar, "")
	var database string
	t.Run("inner", func(t *testing.T) { database = NewDatabase(t) })
	if listens(t, database) {
		t.Errorf("%s outlived its test", database)
	}
}

func TestStartFindsARunningServer(t *testing.T) {
	s, err := Start(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := os.Getenv(urlVar); s.URL() != want {
		t.Errorf("URL %s, want %s", s.URL(), want)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if !listens(t, s.URL()) {
		t.Error("Stop stopped a server that it had not started")
	}
}

func TestStartWhereNobodyAnswers(t *testing.T) {
	dead := "postgres://once@127.0.0.1:1/postgres"
	t.Setenv(urlVar, dead)
	var log bytes.Buffer
	s, err := Start(t.Context(), &Options{Log: &log})
	if err != nil {
		t.Fatal(err)
	}
	if s.URL() == dead || !strings.Contains(log.String(), "does not lead to a server") {
		t.Errorf("URL %s, log %q", s.URL(), &log)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if listens(t, s.URL()) {
		t.Error("it runs after Stop")
	}
}

func TestNoOrphanAfterSIGKILL(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tmp := openDir(t)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "POSTGRESLOCAL_PARENT=1", urlVar+"=", "TMPDIR="+tmp)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	database := strings.TrimSpace(line)
	if !listens(t, database) || contents(t, tmp) == 0 {
		t.Fatalf("%s does not listen", database)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("a killed process exited with 0")
	}
	for end := time.Now().Add(2 * time.Minute); listens(t, database) || contents(t, tmp) != 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s listens: %v; it left %d directories", database, listens(t, database), contents(t, tmp))
		}
	}
}

// TestFetchedPrograms runs what npm fetches, although PostgreSQL may be installed here.
func TestFetchedPrograms(t *testing.T) {
	c, err := (&Options{Log: os.Stderr}).withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	bin, err := install(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	s, err := startPrograms(t.Context(), c, bin)
	if err != nil {
		t.Fatal(err)
	}
	one, err := s.NewDatabase(t.Context(), "fetched")
	if err != nil {
		t.Fatal(err)
	}
	if err := execute(t.Context(), one, "CREATE TABLE a (id text)"); err != nil {
		t.Error(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
}

// Not every build has an engine, so a script replaces the docker command.
func TestDocker(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	calls := filepath.Join(dir, "calls")
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte("#!/bin/sh\necho \"$@\" >>"+calls+"\n[ \"$1\" != run ] || exec "+self+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	t.Setenv(urlVar+"_BEHIND", os.Getenv(urlVar))
	c, err := (&Options{CacheDir: dir}).withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	docker, err := serving.FindDocker(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := startDocker(t.Context(), c, docker)
	if err != nil {
		t.Fatal(err)
	}
	if err := execute(t.Context(), s.URL(), "SELECT 1"); err != nil {
		t.Error(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(got)), "\n")
	for i, want := range []string{"version", "pull --quiet " + dockerImage, "run --rm --name once-postgresql-", "rm --force once-postgresql-"} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Errorf("docker was called as\n%s\nwant %q", got, want)
		}
	}
}

func TestNoRuntime(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := findPrograms(t.Context(), t.TempDir())
	if !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("found programs: %v", err)
	}
	if _, err := install(t.Context(), serving.Launch{CacheDir: t.TempDir(), Log: io.Discard}); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("fetched programs: %v", err)
	}
	if _, err := serving.FindDocker(t.Context()); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("found Docker: %v", err)
	}
	err = &NoRuntimeError{Installed: err}
	if !errors.Is(err, ErrNoRuntime) || !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestFindPrograms(t *testing.T) {
	root := t.TempDir()
	for version, out := range map[string]string{"9": "postgres (PostgreSQL) 9.6", "14": "postgres (PostgreSQL) 14.2", "15": "postgres (PostgreSQL) 15.18 (Debian)", "18": "broken"} {
		dir := filepath.Join(root, version, "bin")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"postgres", "initdb"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho '"+out+"'\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("PATH", t.TempDir())
	if got, err := findPrograms(t.Context(), root); err != nil || got != filepath.Join(root, "15", "bin") {
		t.Errorf("found %q, %v", got, err)
	}
	if err := os.RemoveAll(filepath.Join(root, "15")); err != nil {
		t.Fatal(err)
	}
	if got, err := findPrograms(t.Context(), root); err == nil || !strings.Contains(err.Error(), "older than 15") || !strings.Contains(err.Error(), "no PostgreSQL version") {
		t.Errorf("found %q, %v", got, err)
	}
}

// openDir returns a temporary directory that every user may enter, unlike t.TempDir.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func contents(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func listens(t *testing.T, database string) bool {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}
