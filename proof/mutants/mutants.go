// Package mutants breaks the protocol on purpose. Every file *.mutant takes
// one guard out of the code and names the test that must fail without it: a
// guard that no test misses is one that the next change will lose.
//
// A file has a head of "guard:", "in:", "pkg:" and "test:" lines, and then the
// text to replace and its replacement, behind lines "-- old --" and "-- new --".
// "in:" is the directory of a package, from the root of the repository, and a
// declaration in it, for example "idempotent (*call).claim": see [declarations].
// The old text stands exactly once in that declaration. It is any sequence of
// whole tokens, for example a part of an expression; white space, the ends of
// lines and comments do not count. A file that is not Go is named by its path
// alone, and holds the old text as it stands.
package mutants

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed *.mutant
var files embed.FS

// A Mutant is one guard taken out.
type Mutant struct {
	Name     string // of its file
	Guard    string // what it is that no longer holds
	In       string // directory and declaration that it changes
	Package  string // of the test
	Test     string // that must fail
	Old, New string
}

// Every returns the stored mutants and those of the tables of policies and
// plans in the repository at root.
func Every(root string) ([]Mutant, error) {
	all, err := All()
	if err != nil {
		return nil, err
	}
	protocol := filepath.Join(root, "idempotent", "internal", "protocol")
	policies, err := os.ReadFile(filepath.Join(protocol, "policies.go"))
	if err != nil {
		return nil, err
	}
	plans, err := os.ReadFile(filepath.Join(protocol, "settle.go"))
	if err != nil {
		return nil, err
	}
	return slices.Concat(all, Cells(string(policies)), Cases(string(plans))), nil
}

// All returns every stored mutant.
func All() ([]Mutant, error) {
	names, err := fs.Glob(files, "*.mutant")
	if err != nil {
		return nil, err
	}
	var all []Mutant
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f := form.FindStringSubmatch(string(text))
		if f == nil {
			return nil, fmt.Errorf("%s does not have the form %v", name, form)
		}
		all = append(all, Mutant{
			Name: strings.TrimSuffix(name, ".mutant"), Guard: f[1], In: f[2], Package: f[3], Test: f[4], Old: f[5], New: f[6],
		})
	}
	return all, nil
}

var form = regexp.MustCompile(`(?s)^guard: +([^\n]+)\nin: +([^\n]+)\npkg: +([^\n]+)\ntest: +([^\n]+)
-- old --
(.+)
-- new --
(.*?)\n?$`)
