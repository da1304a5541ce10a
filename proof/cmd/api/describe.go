package main

import (
	"go/ast"
	"go/build"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// private are the folders that only this repository imports.
var private = []string{"internal", "testdata", "proof", "examples", "cmd"}

// describeAll returns the text of each public package below root by the name of its file.
func describeAll(root string) (map[string]string, error) {
	texts := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if path != root && (slices.Contains(private, entry.Name()) || strings.HasPrefix(entry.Name(), ".")) {
			return fs.SkipDir
		}
		pkg, err := build.ImportDir(path, 0)
		if _, none := err.(*build.NoGoError); none {
			return nil
		}
		if err != nil || len(pkg.GoFiles) == 0 || pkg.Name == "main" {
			return err
		}
		dir, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		texts[strings.ReplaceAll(filepath.ToSlash(dir), "/", ".")+".txt"], err = describe(path, pkg.GoFiles)
		return err
	})
	return texts, err
}

// describe returns the exported declarations in some files of a folder, without comments,
// bodies and the values of variables.
func describe(dir string, files []string) (string, error) {
	var declarations []string
	for _, name := range files {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return "", err
		}
		ast.FileExports(file)
		for _, d := range file.Decls {
			if !isSeen(d) {
				continue
			}
			var text strings.Builder
			if err := format.Node(&text, set, bare(d)); err != nil {
				return "", err
			}
			lines := strings.FieldsFunc(text.String(), func(r rune) bool { return r == '\n' }) // none is empty
			declarations = append(declarations, strings.Join(lines, "\n")+"\n")
		}
	}
	slices.Sort(declarations)
	return strings.Join(declarations, ""), nil
}

// isSeen reports whether users see a declaration. ast.FileExports leaves the exported methods
// of types that are not.
func isSeen(d ast.Decl) bool {
	f, ok := d.(*ast.FuncDecl)
	return !ok || f.Recv == nil || ast.IsExported(strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*"))
}

// bare removes bodies and values, which users do not see.
func bare(d ast.Decl) ast.Decl {
	switch d := d.(type) {
	case *ast.FuncDecl:
		d.Body = nil
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR {
				v.Values = nil
			}
		}
	}
	return d
}
