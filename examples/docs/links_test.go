package docs_test

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/lambda-once/once/internal/check"
)

var (
	code      = regexp.MustCompile("`[^`]*`")
	link      = regexp.MustCompile(`\]\(([^()\s]*)\)`)
	reference = regexp.MustCompile(`\]\[|^\s*\[[^\]]*\]:`)
	heading   = regexp.MustCompile(`^#{1,6} +(.*)$`)
)

// Every link of a page leads to a file or folder of the repository, and to a
// heading where it has an anchor. Links to hosts are left alone.
func TestEveryLinkResolves(t *testing.T) {
	anchors, n := allAnchors(t), 0
	for _, p := range pages(t) {
		for i, line := range p.prose {
			line = code.ReplaceAllString(line, "")
			if reference.MatchString(line) || strings.Count(line, "](") != len(link.FindAllString(line, -1)) {
				t.Errorf("%s:%d: write links as [text](target)", p.path, i+1)
			}
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				n++
				if why := unresolved(p.path, m[1], anchors); why != "" {
					t.Errorf("%s:%d: %s: %s", p.path, i+1, m[1], why)
				}
			}
		}
	}
	check.True(t, n >= 10, n, "links: does the test find them?")
}

// A comment, an error text, an alarm or a module of Terraform that names a page of docs/
// leads to a page and a heading that exist.
func TestEveryPageThatACommentOrATextNamesExists(t *testing.T) {
	anchors, named, n := allAnchors(t), regexp.MustCompile(`\bdocs/([\w-]+\.md)(#[\w-]*\w)?`), 0
	for _, file := range files(t) {
		if path.Base(file) != "Makefile" && !slices.Contains([]string{".go", ".md", ".sh", ".tf", ".tmpl", ".yaml"}, path.Ext(file)) {
			continue
		}
		for _, m := range named.FindAllStringSubmatch(read(t, file), -1) {
			n++
			if why := unresolved("README.md", m[0], anchors); why != "" {
				t.Errorf("%s: %s: %s", file, m[0], why)
			}
		}
	}
	check.True(t, n >= 100, n, "names of pages: does the test find them?")
}

// unresolved returns the mistake of a link in the page from, or "".
func unresolved(from, target string, anchors map[string]map[string]bool) string {
	u, err := url.Parse(target)
	switch {
	case err != nil:
		return err.Error()
	case u.Scheme == "https" && u.Host != "":
		return ""
	case u.Scheme != "" || u.Host != "" || u.RawQuery != "" || strings.HasPrefix(u.Path, "/"):
		return "not relative"
	case u.Path == "" && u.Fragment == "":
		return "empty"
	}
	to := from
	if u.Path != "" {
		to = path.Join(path.Dir(from), u.Path)
	}
	if to == ".." || strings.HasPrefix(to, "../") {
		return "outside of the repository"
	}
	if _, err := os.Stat(filepath.Join(root, to)); err != nil {
		return "no such file"
	}
	if u.Fragment != "" && !anchors[to][u.Fragment] {
		return "no such heading"
	}
	return ""
}

// allAnchors returns the anchors of the headings of each page, as GitHub makes them.
func allAnchors(t *testing.T) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for _, p := range pages(t) {
		all[p.path] = map[string]bool{}
		for _, line := range p.prose {
			if m := heading.FindStringSubmatch(line); m != nil {
				all[p.path][anchor(m[1])] = true
			}
		}
	}
	return all
}

func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}

// No two headings of a page have one anchor: GitHub would number them.
func TestHeadingsOfAPageDiffer(t *testing.T) {
	for _, p := range pages(t) {
		seen := map[string]bool{}
		for i, line := range p.prose {
			if m := heading.FindStringSubmatch(line); m != nil {
				check.False(t, seen[anchor(m[1])], p.path, i+1, "another heading is", m[1])
				seen[anchor(m[1])] = true
			}
		}
	}
}

// README leads to the index, and the index to every page.
func TestIndexLinksToEveryPage(t *testing.T) {
	all := pages(t)
	check.Contains(t, all[0].text, "](docs/README.md)", "README.md does not link to the index")
	index := read(t, "docs/README.md")
	for _, p := range all {
		link, err := filepath.Rel("docs", p.path)
		check.Must(t, err)
		if p.path != "docs/README.md" && !strings.Contains(index, "]("+filepath.ToSlash(link)) {
			t.Errorf("docs/README.md does not link to %s", p.path)
		}
	}
}

func TestUnresolvedLinks(t *testing.T) {
	anchors := map[string]map[string]bool{"README.md": {"deploy": true}}
	for target, resolves := range map[string]bool{
		"https://example.com/x": true, "README.md": true, "#deploy": true, "examples/docs": true, "README.md#deploy": true,
		"": false, "#": false, "#operate": false, "missing.md": false, "LICENSE#deploy": false, "../x": false, "/README.md": false,
		"http://example.com": false, "examples/../..": false,
	} {
		if why := unresolved("README.md", target, anchors); (why == "") != resolves {
			t.Errorf("%q: %q", target, why)
		}
	}
	for text, want := range map[string]string{"Queues, streams and topics": "queues-streams-and-topics", "`once`: operate": "once-operate", "A `Step`'s cost": "a-steps-cost"} {
		check.Equal(t, anchor(text), want, text)
	}
}
