package release

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

// WriteProxy writes a module proxy into dir: the files that a proxy serves for each
// module, as https://go.dev/ref/mod#goproxy-protocol names them. A module has the files
// of the working tree that git knows or would add.
func (t *Tree) WriteProxy(ctx context.Context, dir string) error {
	listed, err := exec.CommandContext(ctx, "git", "-C", t.root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	files := strings.Split(strings.TrimRight(string(listed), "\x00"), "\x00")
	for _, m := range t.modules {
		if err := t.pack(filepath.Join(dir, filepath.FromSlash(m.path), "@v"), m, files); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
	}
	return nil
}

func (t *Tree) pack(dir string, m tracked, files []string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var packed []modzip.File
	for _, name := range files {
		own, below := strings.CutPrefix(name, strings.TrimPrefix(m.dir+"/", "./"))
		onDisk := filepath.Join(t.root, filepath.FromSlash(name))
		if _, err := os.Lstat(onDisk); below && err == nil { // an error: deleted, and not yet committed
			packed = append(packed, file{onDisk, own})
		}
	}
	if m.dir != "." { // as for a version that the go command takes from a repository
		packed = append(packed, file{filepath.Join(t.root, "LICENSE"), "LICENSE"})
	}
	var archive bytes.Buffer // without the modules within m
	if err := modzip.Create(&archive, module.Version{Path: m.path, Version: t.version}, packed); err != nil {
		return err
	}
	mod, err := m.file.Format()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"list":              []byte(t.version + "\n"),
		t.version + ".info": fmt.Appendf(nil, `{"Version":%q,"Time":%q}`, t.version, time.Unix(0, 0).UTC().Format(time.RFC3339)),
		t.version + ".mod":  mod,
		t.version + ".zip":  archive.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// file implements modzip.File.
type file struct{ onDisk, inModule string }

func (f file) Path() string                 { return f.inModule }
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(f.onDisk) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(f.onDisk) }
