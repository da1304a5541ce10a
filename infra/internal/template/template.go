// Package template reads CloudFormation templates, those that CDK synthesizes
// and those that are written by hand for SAM, and says what is wrong with the
// deployment of a function that uses Once. It is for tests.
package template

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Template is a template as it is in JSON; the short tags of YAML are written
// out.
type Template map[string]any

// Resource is a resource of a template.
type Resource map[string]any

// Parse reads a template in JSON.
func Parse(text []byte) (Template, error) {
	var t Template
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	return t, nil
}

// Clone copies a template to its leaves.
func (t Template) Clone() Template {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // it came from JSON
	}
	clone, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return clone
}

// Resources gives the resources of one of the types by their logical ids.
func (t Template) Resources(types ...string) map[string]Resource {
	found := map[string]Resource{}
	all, _ := t["Resources"].(map[string]any)
	for id, r := range all {
		if r, ok := r.(map[string]any); ok && (len(types) == 0 || slices.Contains(types, fmt.Sprint(r["Type"]))) {
			found[id] = r
		}
	}
	return found
}

// IDs gives the logical ids of the resources of a type, in order.
func (t Template) IDs(types ...string) []string {
	return slices.Sorted(maps.Keys(t.Resources(types...)))
}

// Properties of a resource; never nil. Changing them changes the resource.
func (r Resource) Properties() map[string]any {
	p, _ := r["Properties"].(map[string]any)
	if p == nil {
		p = map[string]any{}
		r["Properties"] = p
	}
	return p
}

var hashed = regexp.MustCompile(`^(.*[a-z].*?)[0-9A-F]{8}$`)

// Readable is a template of CDK with the hashes taken from its logical ids,
// where these then still differ, and from the names of assets, which change
// with every build.
func (t Template) Readable() (Template, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	ids := map[string][]string{}
	for _, id := range t.IDs() {
		short := id
		if m := hashed.FindStringSubmatch(id); m != nil {
			short = m[1]
		}
		ids[short] = append(ids[short], id)
	}
	for short, long := range ids {
		if len(long) == 1 {
			text = regexp.MustCompile(`\b`+long[0]+`\b`).ReplaceAll(text, []byte(short))
		}
	}
	text = regexp.MustCompile(`[0-9a-f]{64}\.zip`).ReplaceAll(text, []byte("ASSET.zip"))
	return Parse(text)
}

// list is a value that may stand alone where CloudFormation takes several.
func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

// target is the logical id that a Ref or an Fn::GetAtt points to, or "".
func target(v any) string {
	m, _ := v.(map[string]any)
	if id, ok := m["Ref"].(string); ok {
		return id
	}
	switch at := m["Fn::GetAtt"].(type) {
	case string:
		id, _, _ := strings.Cut(at, ".")
		return id
	case []any:
		if len(at) > 0 {
			id, _ := at[0].(string)
			return id
		}
	}
	return ""
}

func number(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case int:
		return float64(v)
	}
	return 0
}
