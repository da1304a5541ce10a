package template

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Actions are the sorted IAM actions that a store needs on its own table.
type Actions struct {
	Always []string
	Group  []string // additional ones with group commit
}

// All returns the sorted actions of a store with group commit.
func (a Actions) All() []string {
	all := slices.Concat(a.Always, a.Group)
	slices.Sort(all)
	return slices.Compact(all)
}

// needs are the actions of each call. A grouped write is a claim (INSERT), a
// change (UPDATE) or a release (DELETE), and never a SELECT: records are read by
// GetItem and BatchGetItem.
var needs = map[string][]string{
	"BatchExecuteStatement": {"PartiQLDelete", "PartiQLInsert", "PartiQLUpdate"},
	"BatchGetItem":          {"BatchGetItem"},
	"DeleteItem":            {"DeleteItem"},
	"GetItem":               {"GetItem"},
	"PutItem":               {"PutItem"},
	// The write of the record in a transaction. The other writes are a
	// handler's, on tables that are granted elsewhere.
	"TransactWriteItems": {"PutItem", "UpdateItem"},
	"UpdateItem":         {"UpdateItem"},
}

// StoreActions returns the actions that the methods of interfaces in a Go package need. It
// returns an error for an unknown method, whose actions must be added to needs.
func StoreActions(folder string, interfaces ...string) (Actions, error) {
	methods, err := methods(folder)
	if err != nil {
		return Actions{}, err
	}
	always, group := map[string]bool{}, map[string]bool{}
	for _, name := range interfaces {
		if len(methods[name]) == 0 {
			return Actions{}, fmt.Errorf("template: %s has no interface %s with methods", folder, name)
		}
		for _, method := range methods[name] {
			if needs[method] == nil {
				return Actions{}, fmt.Errorf("template: %s.%s is unknown: add its actions to needs", name, method)
			}
			to := always
			if strings.HasPrefix(method, "Batch") { // a call that only group commit makes
				to = group
			}
			for _, action := range needs[method] {
				to["dynamodb:"+action] = true
			}
		}
	}
	return Actions{slices.Sorted(maps.Keys(always)), slices.Sorted(maps.Keys(group))}, nil
}

// Interfaces returns the sorted names of the interfaces in a package whose methods
// call DynamoDB.
func Interfaces(folder string) ([]string, error) {
	methods, err := methods(folder)
	return slices.Sorted(maps.Keys(methods)), err
}

var takesInput = regexp.MustCompile(`\*dynamodb\.\w+Input\b`)

// methods of the interfaces in which a method takes an input of package dynamodb.
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
		for n := range ast.Preorder(file) {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				continue
			}
			if i, ok := spec.Type.(*ast.InterfaceType); ok {
				for _, m := range i.Methods.List {
					if takesInput.MatchString(types.ExprString(m.Type)) {
						found[spec.Name.Name] = append(found[spec.Name.Name], m.Names[0].Name)
					}
				}
			}
		}
	}
	return found, nil
}
