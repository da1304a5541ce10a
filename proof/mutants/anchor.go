package mutants

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A span is a part of a source, as a pair of offsets.
type span struct{ start, end int }

// declarations returns the declarations of a name in a source file: "f" for a
// function, a type, a variable or a constant, "T.m" or "(*T).m" for a method.
func declarations(source []byte, name string) (all []span, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	add := func(declared string, n ast.Node) {
		if declared == name {
			all = append(all, span{files.Position(n.Pos()).Offset, files.Position(n.End()).Offset})
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			add(receiver(d)+d.Name.Name, d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					add(s.Name.Name, s)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						add(name.Name, s)
					}
				}
			}
		}
	}
	return all, nil
}

// receiver returns "T." or "(*T)." without the type's parameters.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	name, _, _ := strings.Cut(types.ExprString(f.Recv.List[0].Type), "[")
	if strings.HasPrefix(name, "*") {
		return "(" + name + ")."
	}
	return name + "."
}

// A lexeme is a token and its place.
type lexeme struct {
	text string
	span
}

// lexemes returns the tokens of a piece of Go without its comments and without
// the semicolons that the ends of lines stand for.
func lexemes(source string) ([]lexeme, error) {
	var (
		all  []lexeme
		s    scanner.Scanner
		errs scanner.ErrorList
	)
	file := token.NewFileSet().AddFile("", -1, len(source))
	s.Init(file, []byte(source), errs.Add, 0)
	for {
		pos, tok, text := s.Scan()
		switch {
		case tok == token.EOF:
			return all, errs.Err()
		case tok == token.SEMICOLON && text != ";":
			continue
		case text == "":
			text = tok.String()
		}
		start := file.Offset(pos)
		all = append(all, lexeme{text, span{start, start + len(text)}})
	}
}

// places returns where the tokens of old stand in source.
// The field or method of an operand is none without it: a replacement for f
// would not fit in x.f.
func places(source, old string) ([]span, error) {
	in, err := lexemes(source)
	if err != nil {
		return nil, err
	}
	sought, err := lexemes(old)
	if err != nil || len(sought) == 0 {
		return nil, fmt.Errorf("the old text %q is no sequence of tokens: %w", old, err)
	}
	same := func(a, b lexeme) bool { return a.text == b.text }
	var all []span
	for i := 0; i+len(sought) <= len(in); i++ {
		if i > 0 && in[i-1].text == "." {
			continue
		}
		if last := i + len(sought); slices.EqualFunc(in[i:last], sought, same) {
			all = append(all, span{in[i].start, in[last-1].end})
		}
	}
	return all, nil
}

// Apply returns the file that m changes, relative to the root of the
// repository, and its text with the guard taken out.
func (m Mutant) Apply(root string) (file string, changed []byte, err error) {
	dir, name, isGo := strings.Cut(m.In, " ")
	if !isGo {
		source, err := os.ReadFile(filepath.Join(root, m.In))
		if n := strings.Count(string(source), m.Old); err == nil && n != 1 {
			err = m.misfit(n)
		}
		return m.In, []byte(strings.Replace(string(source), m.Old, m.New, 1)), err
	}
	paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		return "", nil, err
	}
	found := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return "", nil, err
		}
		declared, err := declarations(source, name)
		if err != nil {
			return "", nil, err
		}
		for _, d := range declared {
			at, err := places(string(source[d.start:d.end]), m.Old)
			if err != nil {
				return "", nil, fmt.Errorf("%s: %w", m.Name, err)
			}
			found += len(at)
			for _, p := range at {
				file = filepath.Join(dir, filepath.Base(path))
				changed = slices.Concat(source[:d.start+p.start], []byte(m.New), source[d.start+p.end:])
			}
		}
	}
	if found != 1 {
		return "", nil, m.misfit(found)
	}
	return file, changed, nil
}

func (m Mutant) misfit(n int) error {
	return fmt.Errorf("%s: the text to replace stands %d times in %s, not once; has the guard moved?", m.Name, n, m.In)
}
