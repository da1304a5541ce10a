package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

const root = "../../.."

func pages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(files) == 0 {
		t.Fatal("docs/ has no pages: ", err)
	}
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		check.Must(t, err)
		all[file] = string(text)
	}
	return all
}

func TestTablesOfOptionsAreThoseOfTheCode(t *testing.T) {
	for file, text := range pages(t) {
		updated, err := update(root, text)
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(file), err)
		} else if updated != text {
			t.Errorf("%s is stale: run go -C proof generate ./cmd/reference", filepath.Base(file))
		}
	}
}

var optionsStruct = regexp.MustCompile(`(?m)^type (Config|[A-Z]\w*Props|\w*Options)(\[.*\])? struct`)

func TestEveryOptionsStructHasATable(t *testing.T) {
	var text strings.Builder
	for _, page := range pages(t) {
		text.WriteString(page)
	}
	found := 0
	for _, folder := range []string{"idempotent", "dynamo", "handlers", "infra"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(file string, entry os.DirEntry, err error) error {
			if entry != nil && entry.IsDir() && (entry.Name() == "internal" || entry.Name() == "cmd") {
				return filepath.SkipDir
			}
			if err != nil || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
				return err
			}
			source, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			in, err := filepath.Rel(root, filepath.Dir(file))
			if err != nil {
				return err
			}
			for _, m := range optionsStruct.FindAllStringSubmatch(string(source), -1) {
				found++
				marked := "<!-- options: " + filepath.ToSlash(in) + "." + m[1] + " -->"
				check.Contains(t, text.String(), marked, "no page")
			}
			return nil
		})
		check.Must(t, err)
	}
	check.True(t, found >= 20, "only", found, "structs of options")
}

func TestDescribeTakesADocCommentApart(t *testing.T) {
	for name, c := range map[string]struct {
		structDoc, doc string
		want           field
		fails          string
	}{
		"default in the paragraph":   {doc: "Wait is how long a call waits. Default 5 s.", want: field{meaning: "how long a call waits", standard: "5 s"}},
		"default in its own":         {doc: "Wait bounds\na wait. More of it.\n\nDefault: none. Then nothing waits.", want: field{meaning: "bounds a wait", standard: "none"}},
		"paragraph without a period": {doc: "Wait is this:\n\nDefault: 1,000", want: field{meaning: "this:", standard: "1,000"}},
		"a period within a sentence": {doc: "Wait is idempotent.Wait or 1.5 s. Default 2.5 s, at least 1 s.", want: field{meaning: "idempotent.Wait or 1.5 s", standard: "2.5 s, at least 1 s"}},
		"required":                   {structDoc: "X are the props. Table and Wait are required; the zero value of all else is its default.", doc: "Wait is needed.", want: field{meaning: "needed", standard: "required"}},
		"one of several":             {structDoc: "Code and one of Table, Wait\nand Redis are required; all else is not.", doc: "Wait is needed.", want: field{meaning: "needed", standard: "one of Table, Wait and Redis is required"}},
		"beside one of several":      {structDoc: "Wait and one of Table and Redis are required.", doc: "Wait is needed.", want: field{meaning: "needed", standard: "required"}},
		"no default":                 {structDoc: "Waiting is required.", doc: "Wait is this.", fails: "does not state a default"},
		"no name":                    {doc: "This is it. Default 1.", fails: "does not begin with the name"},
		"no comment":                 {fails: "does not begin with the name"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := describe("Wait", c.structDoc, c.doc)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("%v, want %q", err, c.fails)
				}
				return
			}
			c.want.name = "Wait"
			if err != nil || got != c.want {
				t.Errorf("%+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestUpdateReplacesWhatStandsBetweenTheMarkers(t *testing.T) {
	const before, after = "# Options\n\n<!-- options: idempotent/seal.Options -->", "<!-- end -->\nThe end.\n"
	got, err := update(root, before+"\nstale\n"+after)
	if err != nil || strings.Contains(got, "stale") || !strings.HasPrefix(got, before+"\n") || !strings.HasSuffix(got, after) ||
		!strings.Contains(got, "| `AcceptPlain` | false") {
		t.Errorf("%v\n%s", err, got)
	}
	again, err := update(root, got)
	if err != nil || again != got {
		t.Errorf("a second update changes the page: %v\n%s", err, again)
	}
	for name, text := range map[string]string{
		"no end":    before,
		"no struct": "<!-- options: dynamo.Nonsense -->\n" + after,
	} {
		if _, err := update(root, text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
