package template

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// StoreActions returns the sorted IAM actions that the methods of an interface in a
// Go package need on the store's own table. It returns an error for an unknown
// method: somebody has to decide which actions it needs.
func StoreActions(folder, interfaceName string) ([]string, error) {
	methods, err := methods(folder)
	if err != nil {
		return nil, err
	}
	if len(methods[interfaceName]) == 0 {
		return nil, fmt.Errorf("template: %s has no interface %s with methods", folder, interfaceName)
	}
	var actions []string
	for _, method := range methods[interfaceName] {
		needs, known := needs()[method]
		if !known {
			return nil, fmt.Errorf("template: %s.%s: which actions does it need?", interfaceName, method)
		}
		for _, action := range needs {
			actions = append(actions, "dynamodb:"+action)
		}
	}
	slices.Sort(actions)
	return slices.Compact(actions), nil
}

// Interfaces returns the sorted names of the interfaces in a package whose methods
// call DynamoDB.
func Interfaces(folder string) ([]string, error) {
	methods, err := methods(folder)
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range methods {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

func needs() map[string][]string {
	partiQL := []string{"PartiQLDelete", "PartiQLInsert", "PartiQLSelect", "PartiQLUpdate"}
	return map[string][]string{
		"BatchExecuteStatement": partiQL,
		"BatchGetItem":          {"BatchGetItem"},
		"DeleteItem":            {"DeleteItem"},
		"ExecuteStatement":      partiQL,
		"GetItem":               {"GetItem"},
		"PutItem":               {"PutItem"},
		// The write of the record in a transaction. The other writes are a
		// handler's, on tables that are granted elsewhere.
		"TransactWriteItems": {"PutItem", "UpdateItem"},
		"UpdateItem":         {"UpdateItem"},
	}
}

// methods of the interfaces in which a method takes an input of package
// dynamodb.
func methods(folder string) (map[string][]string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	found := map[string][]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if i, ok := spec.Type.(*ast.InterfaceType); ok {
				for _, m := range i.Methods.List {
					if f, ok := m.Type.(*ast.FuncType); ok && takesInput(f) {
						found[spec.Name.Name] = append(found[spec.Name.Name], m.Names[0].Name)
					}
				}
			}
			return true
		})
	}
	return found, nil
}

func takesInput(f *ast.FuncType) bool {
	return slices.ContainsFunc(f.Params.List, func(p *ast.Field) bool {
		pointer, ok := p.Type.(*ast.StarExpr)
		if !ok {
			return false
		}
		selector, ok := pointer.X.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		from, ok := selector.X.(*ast.Ident)
		return ok && from.Name == "dynamodb" && strings.HasSuffix(selector.Sel.Name, "Input")
	})
}
