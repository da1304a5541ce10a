// Package errortypes finds errors without an exported type. Lambda reports an error by
// the name of its Go type, and Step Functions match on that name. They cannot tell two
// *errors.errorString or *fmt.wrapError apart.
package errortypes

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Package is the source of one package, without its tests.
type Package struct {
	files   []*ast.File
	set     *token.FileSet
	vars    map[string]bool     // package-level errors without a type of their own
	methods map[string][]string // names of methods, by their types
}

// Parse reads the package in a folder.
func Parse(dir string) (*Package, error) {
	p := &Package{set: token.NewFileSet(), vars: map[string]bool{}, methods: map[string][]string{}}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(p.set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, f)
		for _, d := range f.Decls {
			p.declare(d)
		}
	}
	if len(p.files) == 0 {
		return nil, fmt.Errorf("errortypes: no package in %s", dir)
	}
	return p, nil
}

func (p *Package) declare(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		of := receiver(d)
		p.methods[of] = append(p.methods[of], d.Name.Name)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			v, ok := spec.(*ast.ValueSpec)
			for i := 0; ok && i < len(v.Values); i++ {
				if untyped(v.Values[i]) {
					p.vars[v.Names[i].Name] = true
				}
			}
		}
	}
}

// Types returns the exported error types of the package, sorted.
func (p *Package) Types() []string {
	var all []string
	for name := range p.methods {
		if ast.IsExported(name) && p.has(name, "Error") {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

func (p *Package) has(of, method string) bool { return slices.Contains(p.methods[of], method) }

// Unsafe returns the exported error types that do not say which text of them may be
// logged, sorted: those that are no idempotent.SafeError.
func (p *Package) Unsafe() []string {
	return slices.DeleteFunc(p.Types(), func(name string) bool { return p.has(name, "SafeText") })
}

// Bare returns the functions that make or return an error without an exported type, with
// the places where they do. Errors within a value of an exported error type, in a
// comparison or in a panic do not count.
func (p *Package) Bare() map[string][]string {
	found := map[string][]string{}
	for _, f := range p.files {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil && !describes(d) {
				name := d.Name.Name
				if of := receiver(d); of != "" {
					name = of + "." + name
				}
				ast.Walk(&walker{p: p, found: func(n ast.Node) { found[name] = append(found[name], p.set.Position(n.Pos()).String()) }}, d.Body)
			}
		}
	}
	return found
}

// describes reports whether a function is a method of an error such as Unwrap, whose
// result is not returned to a caller by itself.
func describes(d *ast.FuncDecl) bool {
	return d.Recv != nil && slices.Contains([]string{"Error", "Is", "Unwrap"}, d.Name.Name)
}

// receiver returns the type that a function is a method of, or "".
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	return typeName(d.Recv.List[0].Type)
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// untyped reports whether an expression makes an error without an exported type.
func untyped(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	return ok && slices.Contains([]string{"errors.New", "errors.Join", "fmt.Errorf"}, types.ExprString(call.Fun))
}

// Unexplained compares the result of Bare with the reasons why such an error does not
// leave its package by itself. Each reason has the name of a function or a pattern of
// path.Match. Unexplained returns the functions without a reason, with their places, and
// the reasons without a function.
func (p *Package) Unexplained(reasons map[string]string) []string {
	var faults []string
	used := map[string]bool{}
	for function, places := range p.Bare() {
		explained := false
		for pattern, reason := range reasons {
			if ok, err := path.Match(pattern, function); ok && err == nil && reason != "" {
				explained, used[pattern] = true, true
			}
		}
		if !explained {
			faults = append(faults, fmt.Sprintf("%s makes an error without an exported type: %s", function, strings.Join(places, ", ")))
		}
	}
	for pattern := range reasons {
		if !used[pattern] {
			faults = append(faults, fmt.Sprintf("%s makes no such error, or has no reason for it", pattern))
		}
	}
	slices.Sort(faults)
	return faults
}

type walker struct {
	p     *Package
	found func(ast.Node)
}

func (w *walker) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.CompositeLit:
		name := typeName(n.Type)
		if isErrorType(name) {
			return nil
		}
		if w.p.has(name, "Error") {
			w.found(n)
		}
	case *ast.CallExpr:
		if untyped(n) {
			w.found(n)
			return nil
		}
		if slices.Contains([]string{"panic", "Is", "is", "ErrorIs"}, typeName(n.Fun)) {
			return nil
		}
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			return nil
		}
	case *ast.CaseClause:
		for _, s := range n.Body {
			ast.Walk(w, s)
		}
		return nil
	case *ast.Ident:
		if w.p.vars[n.Name] {
			w.found(n)
		}
	}
	return w
}

// isErrorType knows exported error types by their names, also those of other
// packages.
func isErrorType(name string) bool {
	return ast.IsExported(name) && (strings.HasSuffix(name, "Error") || name == "Rejected")
}
