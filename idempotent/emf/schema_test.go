package emf_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// document is a line as CloudWatch reads it: one JSON object, and nothing
// around it.
func document(t testing.TB, line []byte) map[string]any {
	t.Helper()
	var doc map[string]any
	check.Must(t, json.Unmarshal(line, &doc))
	for _, fault := range slices.Concat(faults(schema(t), doc, "line"), dangling(doc)) {
		t.Errorf("%s in %s", fault, line)
	}
	return doc
}

func schema(t testing.TB) map[string]any {
	t.Helper()
	text, err := os.ReadFile("testdata/emf.schema.json")
	check.Must(t, err)
	var s map[string]any
	check.Must(t, json.Unmarshal(text, &s))
	return s
}

// faults returns the violations of a JSON Schema by a value. It knows the keywords
// that the schema here has, and no others.
func faults(schema map[string]any, value any, at string) (found []string) {
	is := func(wrong bool, keyword string) {
		if wrong {
			found = append(found, fmt.Sprintf("%s: %s %v, got %v", at, keyword, schema[keyword], value))
		}
	}
	object, _ := value.(map[string]any)
	array, _ := value.([]any)
	text, _ := value.(string)
	properties, _ := schema["properties"].(map[string]any)
	for keyword, rule := range schema {
		switch keyword {
		case "title":
		case "type":
			is(!isOf(rule.(string), value), keyword)
		case "enum":
			is(!slices.ContainsFunc(rule.([]any), func(one any) bool { return reflect.DeepEqual(one, value) }), keyword)
		case "required":
			for _, name := range rule.([]any) {
				is(object[name.(string)] == nil, keyword)
			}
		case "additionalProperties":
			for name := range object {
				is(properties[name] == nil, keyword)
			}
		case "properties":
			for _, name := range slices.Sorted(maps.Keys(properties)) {
				if member, ok := object[name]; ok {
					found = append(found, faults(properties[name].(map[string]any), member, at+"."+name)...)
				}
			}
		case "items":
			for i, item := range array {
				found = append(found, faults(rule.(map[string]any), item, fmt.Sprintf("%s[%d]", at, i))...)
			}
		case "minItems":
			is(float64(len(array)) < rule.(float64), keyword)
		case "maxItems":
			is(float64(len(array)) > rule.(float64), keyword)
		case "minLength":
			is(float64(len(text)) < rule.(float64), keyword)
		case "maxLength":
			is(float64(len(text)) > rule.(float64), keyword)
		default:
			found = append(found, fmt.Sprintf("%s: the schema's keyword %q is not checked", at, keyword))
		}
	}
	return found
}

func isOf(kind string, value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return kind == "object"
	case []any:
		return kind == "array"
	case string:
		return kind == "string"
	case float64:
		return kind == "integer" && v == math.Trunc(v)
	}
	return false
}

// dangling finds what the specification requires of the members that a document
// refers to, which a schema cannot say.
func dangling(doc map[string]any) (found []string) {
	aws, _ := doc["_aws"].(map[string]any)
	all, _ := aws["CloudWatchMetrics"].([]any)
	for _, one := range all {
		d, _ := one.(map[string]any)
		sets, _ := d["Dimensions"].([]any)
		for _, set := range sets {
			names, _ := set.([]any)
			for _, name := range names {
				value, ok := doc[fmt.Sprint(name)].(string)
				if !ok || len(value) < 1 || len(value) > 1024 {
					found = append(found, fmt.Sprintf("dimension %v is %v", name, doc[fmt.Sprint(name)]))
				}
			}
		}
		metrics, _ := d["Metrics"].([]any)
		for _, metric := range metrics {
			m, _ := metric.(map[string]any)
			if _, ok := doc[fmt.Sprint(m["Name"])].(float64); !ok {
				found = append(found, fmt.Sprintf("metric %v is %v", m["Name"], doc[fmt.Sprint(m["Name"])]))
			}
		}
	}
	return found
}

// The checks of this file find what they are for.
func TestSchemaRefuses(t *testing.T) {
	const good = `{"_aws":{"Timestamp":1,"CloudWatchMetrics":[{"Namespace":"N","Dimensions":[["d"]],"Metrics":[{"Name":"M","Unit":"Count"}]}]},"d":"v","M":0}`
	var doc map[string]any
	if err := json.Unmarshal([]byte(good), &doc); err != nil || len(faults(schema(t), doc, "")) > 0 || len(dangling(doc)) > 0 {
		t.Fatal(err, faults(schema(t), doc, ""), dangling(doc))
	}
	for _, bad := range [][2]string{
		{`"Timestamp":1,`, ``}, {`"Timestamp":1`, `"Timestamp":"1"`}, {`"Timestamp":1`, `"Timestamp":1.5`},
		{`"Namespace":"N",`, ``}, {`"N"`, `""`}, {`[["d"]]`, `[]`}, {`[["d"]]`, `["d"]`}, {`[["d"]]`, `[["absent"]]`},
		{`"Count"`, `"Counts"`}, {`"Unit"`, `"unit"`}, {`"Name":"M",`, ``}, {`"M":0`, `"M":"0"`}, {`"M":0`, `"m":0`},
		{`"v"`, `""`}, {`"v"`, `1`}, {`{"_aws"`, `{"aws"`},
	} {
		text := bytes.Replace([]byte(good), []byte(bad[0]), []byte(bad[1]), 1)
		var doc map[string]any
		check.Must(t, json.Unmarshal(text, &doc))
		if len(faults(schema(t), doc, "")) == 0 && len(dangling(doc)) == 0 {
			t.Errorf("taken: %s", text)
		}
	}
}
