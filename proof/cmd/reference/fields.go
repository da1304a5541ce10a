package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A field is an option as described by its doc comment.
type field struct{ name, standard, meaning string }

// readFields returns the exported fields of a struct of the package in folder.
// It parses only the source, so that it can read packages of every module.
func readFields(root, folder, name string) ([]field, error) {
	names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*.go"))
	if err != nil {
		return nil, err
	}
	set, files := token.NewFileSet(), []*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	p, err := doc.NewFromFiles(set, files, folder)
	if err != nil {
		return nil, err
	}
	for _, t := range p.Types {
		if options, ok := t.Decl.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType); ok && t.Name == name {
			return describeAll(t.Doc, options)
		}
	}
	return nil, errors.New("no such struct")
}

// describeAll describes all fields; package doc has dropped those that are not exported.
func describeAll(structDoc string, options *ast.StructType) (all []field, err error) {
	for _, f := range options.Fields.List {
		for _, name := range f.Names {
			described, invalid := describe(name.Name, structDoc, f.Doc.Text())
			all, err = append(all, described), errors.Join(err, invalid)
		}
	}
	return all, err
}

var standard = regexp.MustCompile(`^Default:? *(.*)`)

// describe parses the doc comment of a field. The first sentence is its meaning, and
// the sentence that begins with "Default" is its default. A field without one is required
// if the doc comment of the struct says so, as in "Code and one of Table and Redis are
// required".
func describe(name, structDoc, comment string) (field, error) {
	f, all := field{name: name}, sentences(comment)
	if m := regexp.MustCompile(`^` + name + ` (?:is |are )?(.*)`).FindStringSubmatch(all[0]); m != nil {
		f.meaning = m[1]
	}
	for _, sentence := range all {
		if m := standard.FindStringSubmatch(sentence); m != nil && f.standard == "" {
			f.standard = m[1]
		}
	}
	required := regexp.MustCompile(`\b` + name + `\b.* required`)
	if f.standard == "" && slices.ContainsFunc(sentences(structDoc), required.MatchString) {
		f.standard = "required"
	}
	oneOf := regexp.MustCompile(`\b[Oo](ne of [^;.]*\b` + name + `\b.*?) (?:is|are) required`)
	if m := oneOf.FindStringSubmatch(strings.Join(sentences(structDoc), ". ")); m != nil && f.standard == "required" {
		f.standard = "o" + m[1] + " is required"
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

// sentences returns at least one, each without its period.
func sentences(text string) []string {
	all := sentenceEnd.Split(strings.TrimSpace(text)+"\n\n", -1)
	for i, s := range all {
		all[i] = strings.Join(strings.Fields(s), " ")
	}
	return all
}
