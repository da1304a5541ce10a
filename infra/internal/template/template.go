// Package template reads CloudFormation templates. It is used by tests.
package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A Template is a template as in JSON.
type Template map[string]any

// A Resource is a resource of a template.
type Resource map[string]any

// Parse reads a template in JSON.
func Parse(text []byte) (Template, error) {
	var t Template
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	return t, nil
}

// Clone returns a deep copy.
func (t Template) Clone() Template {
	text, err := json.Marshal(t)
	clone, invalid := Parse(text)
	if err := errors.Join(err, invalid); err != nil {
		panic(err) // it came from JSON
	}
	return clone
}

// Resources returns the resources of one of the types by their logical ids.
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

// IDs returns the sorted logical ids of the resources of a type.
func (t Template) IDs(types ...string) []string {
	return slices.Sorted(maps.Keys(t.Resources(types...)))
}

// Properties returns the properties of a resource, never nil. Changing them changes
// the resource.
func (r Resource) Properties() map[string]any {
	p, _ := r["Properties"].(map[string]any)
	if p == nil {
		p = map[string]any{}
		r["Properties"] = p
	}
	return p
}

func (r Resource) at(path ...string) any { return at(r["Properties"], path...) }

var hashed = regexp.MustCompile(`^(.*[a-z].*?)[0-9A-F]{8}$`)

// Readable returns a template of CDK without hashes. It removes them from logical ids that
// still differ then, and from the names of assets, which change with every build.
func (t Template) Readable() (Template, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	ids := map[string][]string{}
	for _, id := range t.IDs() {
		short := hashed.ReplaceAllString(id, "$1")
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

// at returns the value at a path of nested maps, or nil.
func at(v any, path ...string) any {
	for _, key := range path {
		m, _ := v.(map[string]any) // of any other value, nil: it has no keys
		v = m[key]
	}
	return v
}

// list returns a value that CloudFormation accepts alone or in a list.
func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

// target returns the logical id that a Ref or an Fn::GetAtt refers to, or "".
func target(v any) string {
	if id, ok := at(v, "Ref").(string); ok {
		return id
	}
	switch attribute := at(v, "Fn::GetAtt").(type) {
	case string:
		id, _, _ := strings.Cut(attribute, ".") // one without a dot is an id alone
		return id
	case []any:
		if len(attribute) > 0 {
			id, _ := attribute[0].(string) // a function in its place has no id
			return id
		}
	}
	return ""
}

// refers reports whether one of the values in a list refers to a logical id.
func refers(values any, id string) bool {
	return id != "" && slices.ContainsFunc(list(values), func(v any) bool { return target(v) == id })
}
