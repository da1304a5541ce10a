package terraform

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

var write = flag.Bool("write", false, "write the tables of variables and outputs")

// Each README ends with tables of the module's variables and outputs.
func TestReadmesListVariablesAndOutputs(t *testing.T) {
	for _, folder := range folders {
		path := filepath.Join(modules, folder, "README.md")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		const mark = "<!-- variables and outputs: go -C proof test ./terraform -args -write -->\n"
		before, after, found := strings.Cut(string(text), mark)
		if !found {
			t.Errorf("%s has no %q", path, mark)
		}
		want := tablesOf(t, filepath.Join(modules, folder))
		if after == want {
			continue
		}
		if !*write {
			t.Errorf("%s does not list the variables and outputs: run go -C proof test ./terraform -args -write", path)
			continue
		}
		if err := os.WriteFile(path, []byte(before+mark+want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func tablesOf(t *testing.T, dir string) string {
	t.Helper()
	m := moduleIn(t, dir)
	text := ""
	if len(m.variables) > 0 {
		text += "\n| variable | is | type | default |\n|---|---|---|---|\n"
	}
	for _, name := range slices.Sorted(maps.Keys(m.variables)) {
		body := m.variables[name].Body
		byDefault := "required"
		if body.Attributes["default"] != nil {
			byDefault = "`" + source(t, body, "default") + "`"
		}
		text += fmt.Sprintf("| `%s` | %s | `%s` | %s |\n", name, literal(t, body, "description"), source(t, body, "type"), byDefault)
	}
	text += "\n| output | is |\n|---|---|\n"
	for _, name := range slices.Sorted(maps.Keys(m.outputs)) {
		text += fmt.Sprintf("| `%s` | %s |\n", name, literal(t, m.outputs[name].Body, "description"))
	}
	return text
}

func literal(t *testing.T, body *hclsyntax.Body, name string) string {
	t.Helper()
	if body.Attributes[name] == nil {
		t.Fatalf("%s: there is no %s", body.SrcRange, name)
	}
	v, wrong := body.Attributes[name].Expr.Value(nil)
	if wrong.HasErrors() {
		t.Fatal(wrong)
	}
	return v.AsString()
}

// source returns the text of an expression in one line.
func source(t *testing.T, body *hclsyntax.Body, name string) string {
	t.Helper()
	at := body.Attributes[name].Expr.Range()
	text, err := os.ReadFile(at.Filename)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`\s+`).ReplaceAllString(string(at.SliceBytes(text)), " ")
	return regexp.MustCompile(`([a-z0-9)}]) ([a-z_]+ = )`).ReplaceAllString(line, "$1, $2")
}
