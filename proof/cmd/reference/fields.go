package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
)

// A field is an option as described by its doc comment.
type field struct{ name, standard, meaning string }

// readFields returns the exported fields of a struct of the package in folder.
// It parses only the source, so that it can read packages of every module.
func readFields(root, folder, name string) ([]field, error) {
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*.go"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		if doc, options := find(parsed, name); options != nil {
			return describeAll(doc, options)
		}
	}
	return nil, fmt.Errorf("no such struct")
}

// find returns a struct that a file declares, and its doc comment.
func find(file *ast.File, name string) (string, *ast.StructType) {
	for _, declaration := range file.Decls {
		types, ok := declaration.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range types.Specs {
			declared, ok := spec.(*ast.TypeSpec)
			if !ok || declared.Name.Name != name {
				continue
			}
			if options, ok := declared.Type.(*ast.StructType); ok {
				return types.Doc.Text(), options
			}
		}
	}
	return "", nil
}

func describeAll(doc string, options *ast.StructType) ([]field, error) {
	var all []field
	var errs []error
	for _, f := range options.Fields.List {
		for _, name := range f.Names {
			if !name.IsExported() {
				continue
			}
			described, err := describe(name.Name, doc, f.Doc.Text())
			all, errs = append(all, described), append(errs, err)
		}
	}
	return all, errors.Join(errs...)
}

// describe parses the doc comment of a field. The first sentence is its meaning, and
// the sentence that begins with "Default" is its default.
func describe(name, structDoc, doc string) (field, error) {
	f := field{name: name}
	for i, sentence := range sentences(doc) {
		if i == 0 {
			f.meaning = withoutName(sentence, name)
		}
		if value, ok := strings.CutPrefix(sentence, "Default"); ok && f.standard == "" {
			f.standard = strings.TrimSpace(strings.TrimPrefix(value, ":"))
		}
	}
	if f.standard == "" && requires(structDoc, name) {
		f.standard = "required"
	}
	switch {
	case f.meaning == "":
		return f, fmt.Errorf("the doc comment of %s does not begin with the name", name)
	case f.standard == "":
		return f, fmt.Errorf("the doc comment of %s does not state a default", name)
	}
	return f, nil
}

// A sentence ends with a period before white space, or at the end of a
// paragraph.
var sentenceEnd = regexp.MustCompile(`\.\s+|\.?\n\n+`)

func sentences(doc string) []string {
	var all []string
	for _, s := range sentenceEnd.Split(strings.TrimSpace(doc)+"\n\n", -1) {
		if s = strings.Join(strings.Fields(s), " "); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// withoutName returns "" for a sentence that does not begin with the name.
func withoutName(sentence, name string) string {
	rest, ok := strings.CutPrefix(sentence, name+" ")
	if !ok {
		return ""
	}
	for _, verb := range []string{"is ", "are "} {
		if what, ok := strings.CutPrefix(rest, verb); ok {
			return what
		}
	}
	return rest
}

// requires reports whether the doc comment of a struct says that a field is
// required, as in "Code and Table are required".
func requires(structDoc, name string) bool {
	for _, s := range sentences(structDoc) {
		list, _, found := strings.Cut(s, " required")
		if found && regexp.MustCompile(`\b`+name+`\b`).MatchString(list) {
			return true
		}
	}
	return false
}
