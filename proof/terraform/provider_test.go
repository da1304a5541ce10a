package terraform

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/lambda-once/once/local/fetch"
)

// A provider has the types of the resources of AWS, which @cdktf/provider-aws generates from
// the schemas of Terraform's provider.
type provider struct{ dir string }

// A release of @cdktf/provider-aws has the types of a version of the provider.
type release struct{ types, sha256, provider string }

var (
	oldest = release{"19.39.0", "22f7c9ad7c6c333302124f94fcdf0a50e692b8794a333395eb0999f5273afef6", "5.73"}
	newest = release{"21.22.1", "d1446ab6ac6526c6fab4b28a5ebefdd90c0ce56203949925d35a4d286c05cbbf", "6.25"}
)

func newProvider(t *testing.T, r release) provider {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := fetch.Program{
		Name:     "the types of Terraform's provider for AWS",
		CacheDir: filepath.Join(cache, "once", "terraform-provider-aws"),
		File:     "sqs-queue/index.d.ts",
		Log:      t.Output(),
		Sources: []fetch.Source{{
			Version: r.types,
			SHA256:  r.sha256,
			Prefix:  "package/lib/",
			Fetch:   fetch.NpmPack("@cdktf/provider-aws", r.types),
			Finish:  removePrograms,
		}},
	}.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return provider{dir}
}

// removePrograms keeps the types, a seventh of the files.
func removePrograms(root *os.Root) error {
	return fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".d.ts") {
			return err
		}
		return root.Remove(path)
	})
}

// A shape has the arguments of a resource or a block.
type shape map[string]argument

type argument struct {
	required bool
	block    shape  // nil if it is no block
	kind     string // of another argument: string, number, boolean, string[], map
}

var (
	interfaces = regexp.MustCompile(`(?ms)^export interface (\w+)( extends cdktf\.TerraformMetaArguments)? \{\n(.*?)^\}`)
	members    = regexp.MustCompile(`(?s)/\*\*(.*?)\*/\s+readonly \w+(\??): (\{.*?\}|[^;]*);`)
	snakeName  = regexp.MustCompile(`#(\w+)\}\n`)
	getter     = regexp.MustCompile(`(?m)^    get (\w+)\(\)`)
)

func (p provider) text(kind string) (string, error) {
	folder, data := strings.CutPrefix(kind, "data.")
	folder = strings.ReplaceAll(strings.TrimPrefix(folder, "aws_"), "_", "-")
	if data {
		folder = "data-aws-" + folder
	}
	text, err := os.ReadFile(filepath.Join(p.dir, folder, "index.d.ts"))
	if err == nil && !strings.Contains(string(text), fmt.Sprintf("tfResourceType = %q", strings.TrimPrefix(kind, "data."))) {
		err = errors.New("its types are those of another resource")
	}
	return string(text), err
}

// resource returns the arguments of a type of resource.
func (p provider) resource(kind string) (shape, error) {
	if kind == "terraform_data" { // Terraform's own, since 1.4
		return shape{"triggers_replace": {kind: "string"}}, nil
	}
	text, err := p.text(kind)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	bodies, root := map[string]string{}, ""
	for _, m := range interfaces.FindAllStringSubmatch(text, -1) {
		bodies[m[1]] = m[3]
		if m[2] != "" {
			root = m[1]
		}
	}
	if root == "" {
		return nil, fmt.Errorf("%s: its types have an unknown form", kind)
	}
	return read(bodies, root), nil
}

func read(bodies map[string]string, name string) shape {
	s := shape{}
	for _, m := range members.FindAllStringSubmatch(bodies[name], -1) {
		doc, optional, kind := m[1], m[2], strings.TrimSuffix(m[3], " | cdktf.IResolvable")
		found := snakeName.FindStringSubmatch(doc)
		a := argument{required: optional == "", kind: kind}
		if strings.HasPrefix(kind, "{") {
			a.kind = "map"
		}
		if inner := strings.TrimSuffix(kind, "[]"); bodies[inner] != "" {
			a.block = read(bodies, inner)
		}
		s[found[1]] = a
	}
	return s
}

// check reports the names of a body that the provider does not know, and required ones that
// are absent.
func (s shape) check(body *hclsyntax.Body, path string) (problems []string) {
	given := map[string]bool{}
	for name := range body.Attributes {
		given[name] = true
		if a, known := s[name]; (!known || a.block != nil) && !(path == "" && slices.Contains(metaArguments, name)) {
			problems = append(problems, fmt.Sprintf("%s%s is no argument", path, name))
		}
	}
	for _, block := range body.Blocks {
		name, content := block.Type, block.Body
		switch name {
		case "lifecycle":
			continue
		case "dynamic":
			name, content = block.Labels[0], block.Body.Blocks[0].Body
		}
		given[name] = true
		if a := s[name]; a.block == nil {
			problems = append(problems, fmt.Sprintf("%s%s is no block", path, name))
		} else {
			problems = append(problems, a.block.check(content, path+name+".")...)
		}
	}
	for name, a := range s {
		if a.required && !given[name] {
			problems = append(problems, fmt.Sprintf("%s%s is required", path, name))
		}
	}
	return problems
}

// checkTypes reports values that are not of the provider's type, and notes the arguments that
// it has seen.
func (s shape) checkTypes(b Body, path string, seen map[string]bool) (problems []string) {
	for name, v := range b.Attributes {
		seen[path+name] = true
		if kind := s[name].kind; !isOf(v, kind) {
			problems = append(problems, fmt.Sprintf("%s%s is %s, want %s", path, name, v.Type().FriendlyName(), kind))
		}
	}
	for name, blocks := range b.Blocks {
		for _, inner := range blocks {
			problems = append(problems, s[name].block.checkTypes(inner, path+name+".", seen)...)
		}
	}
	return problems
}

func isOf(v cty.Value, kind string) bool {
	switch kind {
	case "string":
		return v.Type() == cty.String
	case "number":
		return v.Type() == cty.Number
	case "boolean":
		return v.Type() == cty.Bool
	case "string[]":
		return (v.Type().IsTupleType() || v.Type().IsListType() || v.Type().IsSetType()) && all(v, cty.String)
	case "map":
		return (v.Type().IsObjectType() || v.Type().IsMapType()) && all(v, cty.String)
	}
	return false
}

func all(v cty.Value, kind cty.Type) bool {
	for it := v.ElementIterator(); it.Next(); {
		if _, element := it.Element(); element.Type() != kind {
			return false
		}
	}
	return true
}
