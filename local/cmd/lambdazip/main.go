// Command lambdazip packs a compiled function for Lambda: it writes a zip with the
// program as the executable file "bootstrap".
//
//	go run github.com/lambda-once/once/local/cmd/lambdazip build/orders/bootstrap.zip build/orders/bootstrap
//
// The zip depends only on the bytes of the program, and not on the time, the time zone,
// the umask or the machine. CDK names code by the hash of its zip, so an unchanged
// program is not deployed again.
package main

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: lambdazip ZIP PROGRAM")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "lambdazip:", err)
		os.Exit(1)
	}
}

// write writes a temporary file and renames it, so that an existing zip is always
// complete.
func write(name, program string) (err error) {
	in, err := os.Open(program)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(out.Name())
		}
	}()
	err = pack(out, in)
	if closing := out.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	if err = os.Chmod(out.Name(), 0o644); err != nil {
		return err
	}
	return os.Rename(out.Name(), name)
}

// epoch is the earliest time that a zip can contain.
var epoch = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

func pack(out io.Writer, program io.Reader) error {
	z := zip.NewWriter(out)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate, Modified: epoch}
	header.SetMode(0o755)
	entry, err := z.CreateHeader(header)
	if err != nil {
		return err
	}
	if _, err := io.Copy(entry, program); err != nil {
		return err
	}
	return z.Close()
}
