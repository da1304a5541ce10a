// Package mutants breaks the protocol on purpose. Each mutant takes one guard
// out of the code and names the test that must fail without it: a guard that no
// test misses is one that the next change will lose.
//
// The mutants of a package are one file, *.mutants. Each begins with a line
// "== name ==" and a head of "guard:", "in:", "pkg:" and "test:" lines. Then
// come the text to replace and its replacement, behind lines "-- old --" and
// "-- new --". "in:" is the directory of a package, from the root of the
// repository, and a declaration in it, for example
// "idempotent (*call).claim": see [declarations]. The old text stands exactly
// once in that declaration. It is any sequence of whole tokens, for example a
// part of an expression; white space, the ends of lines and comments do not
// count. A file that is not Go is named by its path alone, and holds the old
// text as it stands.
package mutants

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

//go:embed *.mutants
var files embed.FS

// A Mutant is one guard taken out.
type Mutant struct {
	Name     string // unique
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
	names, err := fs.Glob(files, "*.mutants")
	if err != nil {
		return nil, err
	}
	var all []Mutant
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		starts := start.FindAllStringIndex(string(text), -1)
		if len(starts) == 0 || starts[0][0] != 0 {
			return nil, fmt.Errorf("%s does not begin with the name of a mutant", name)
		}
		for i, s := range starts {
			end := len(text)
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			f := form.FindStringSubmatch(string(text[s[0]:end]))
			if f == nil {
				return nil, fmt.Errorf("%s: %q does not have the form %v", name, text[s[0]:s[1]], form)
			}
			all = append(all, Mutant{Name: f[1], Guard: f[2], In: f[3], Package: f[4], Test: f[5], Old: f[6], New: f[7]})
		}
	}
	return all, nil
}

var (
	start = regexp.MustCompile(`(?m)^== \S+ ==$`)
	form  = regexp.MustCompile(`(?s)^== (\S+) ==
guard: +([^\n]+)\nin: +([^\n]+)\npkg: +([^\n]+)\ntest: +([^\n]+)
-- old --
(.+)
-- new --
(.*?)\n*$`)
)
