package terraform

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// A module is a folder of configuration.
type module struct {
	dir       string
	variables map[string]*hclsyntax.Block
	locals    map[string]hclsyntax.Expression
	calls     map[string]*hclsyntax.Block
	resources map[string]*hclsyntax.Block // by "type.name" and "data.type.name"
	outputs   map[string]*hclsyntax.Block
}

func readModule(dir string) (*module, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.tf"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("terraform: no configuration in %s", dir)
	}
	m := &module{
		dir: dir, variables: map[string]*hclsyntax.Block{}, locals: map[string]hclsyntax.Expression{},
		calls: map[string]*hclsyntax.Block{}, resources: map[string]*hclsyntax.Block{}, outputs: map[string]*hclsyntax.Block{},
	}
	for _, file := range files {
		body, err := parse(file)
		if err != nil {
			return nil, err
		}
		for _, block := range body.Blocks {
			if err := m.add(block); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

func parse(file string) (*hclsyntax.Body, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	parsed, wrong := hclsyntax.ParseConfig(text, file, hcl.InitialPos)
	if wrong.HasErrors() {
		return nil, wrong
	}
	return parsed.Body.(*hclsyntax.Body), nil
}

func (m *module) add(block *hclsyntax.Block) error {
	switch block.Type {
	case "moved", "provider", "terraform":
		return nil
	case "locals":
		for name, attribute := range block.Body.Attributes {
			if m.locals[name] != nil {
				return fmt.Errorf("%s: local.%s is defined twice", attribute.SrcRange, name)
			}
			m.locals[name] = attribute.Expr
		}
		return nil
	}
	name, to := strings.Join(block.Labels, "."), map[string]map[string]*hclsyntax.Block{
		"data": m.resources, "module": m.calls, "output": m.outputs, "resource": m.resources, "variable": m.variables,
	}[block.Type]
	if to == nil {
		return fmt.Errorf("%s: a block %q is unknown here", block.TypeRange, block.Type)
	}
	if block.Type == "data" {
		name = "data." + name
	}
	if to[name] != nil {
		return fmt.Errorf("%s: %s is defined twice", block.TypeRange, name)
	}
	to[name] = block
	return nil
}
