package fetch

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// unpack writes the regular files of a .tar.gz whose names begin with prefix to root. It
// writes nothing outside, even from a malicious archive.
func unpack(archive io.Reader, prefix string, root *os.Root) error {
	z, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		// Archives made with "tar c ." have names that begin with "./".
		name, ok := strings.CutPrefix(strings.TrimPrefix(h.Name, "./"), prefix)
		if !ok || h.Typeflag != tar.TypeReg {
			continue
		}
		if !fs.ValidPath(name) {
			return fmt.Errorf("the archive contains a file %q", h.Name)
		}
		if err := writeFile(root, name, h.FileInfo().Mode()&0o111, r); err != nil {
			return err
		}
	}
}

func writeFile(root *os.Root, name string, executable fs.FileMode, from io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644|executable)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}
