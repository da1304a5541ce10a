package terraform

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

var (
	blocks = regexp.MustCompile("(?s)```hcl\n(.*?)```")
	remote = regexp.MustCompile(`git::https://github\.com/lambda-once/once\.git//infra/terraform/(\w+)\?ref=v[0-9.]+"`)
)

// The first block of a page is a whole root. The later ones extend it.
func TestPageIsAccepted(t *testing.T) {
	text, err := os.ReadFile("../../docs/terraform.md")
	if err != nil {
		t.Fatal(err)
	}
	whole := ""
	for _, block := range blocks.FindAllStringSubmatch(string(text), -1) {
		whole += block[1]
	}
	c := evaluated(t, root(t, remote.ReplaceAllString(whole, `MODULES/$1"`)))
	if len(c.Refusals) > 0 {
		t.Error(c.Refusals)
	}
	if len(c.Resources) < 30 {
		t.Errorf("%d resources", len(c.Resources))
	}
}

// Each module's README calls it with arguments that it has, and with all that it requires.
func TestReadmesCallTheirModules(t *testing.T) {
	for _, folder := range folders {
		if folder == "examples" {
			continue // a root
		}
		text, err := os.ReadFile(filepath.Join(modules, folder, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		called := 0
		for _, block := range blocks.FindAllStringSubmatch(string(text), -1) {
			if !strings.HasPrefix(block[1], "module") {
				continue
			}
			dir := root(t, remote.ReplaceAllString(block[1], `MODULES/$1"`))
			m := moduleIn(t, dir)
			for _, call := range m.calls {
				called++
				for _, problem := range arguments(t, filepath.Join(modules, folder), call.Body) {
					t.Errorf("%s: %s", folder, problem)
				}
			}
		}
		if called == 0 {
			t.Errorf("the README of %s does not call it", folder)
		}
	}
}

// arguments reports the arguments that a call of a module lacks or has too many.
func arguments(t *testing.T, dir string, call *hclsyntax.Body) (problems []string) {
	t.Helper()
	m := moduleIn(t, dir)
	for name := range call.Attributes {
		if name != "source" && m.variables[name] == nil {
			problems = append(problems, name+" is no variable")
		}
	}
	for name, block := range m.variables {
		if block.Body.Attributes["default"] == nil && call.Attributes[name] == nil {
			problems = append(problems, name+" is required")
		}
	}
	return problems
}
