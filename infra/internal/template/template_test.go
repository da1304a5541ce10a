package template

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseYAML(t *testing.T) {
	got, err := ParseYAML([]byte("A: !Ref X\nB: !GetAtt X.Arn\nC: !Sub \"${X}/y\"\nD: [1, true, \"2\", !Join [\"\", [!Ref X]]]\nE: !If [c, 1, 2]\n"))
	want := Template{
		"A": map[string]any{"Ref": "X"},
		"B": map[string]any{"Fn::GetAtt": []any{"X", "Arn"}},
		"C": map[string]any{"Fn::Sub": "${X}/y"},
		"D": []any{1.0, true, "2", map[string]any{"Fn::Join": []any{"", []any{map[string]any{"Ref": "X"}}}}},
		"E": map[string]any{"Fn::If": []any{"c", 1.0, 2.0}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	for words, text := range map[string]string{
		"no aliases":           "A: &a 1\nB: *a\n",
		"no merges":            "A: {<<: {B: 1}}\n",
		`"A" already defined`:  "A: 1\nA: 2\n",
		"it is empty":          "",
		"did not find":         "A: [1\n",
		"cannot unmarshal":     "- a\n",
		"mapping values are n": "A: B: C\n",
	} {
		if got, err := ParseYAML([]byte(text)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: got %v, %v, want %q", text, got, err, words)
		}
	}
}

// Hashes are removed from ids that still differ without them.
func TestReadable(t *testing.T) {
	got, err := Template{"Resources": map[string]any{
		"Table0123ABCD": map[string]any{}, "A0123ABCD": map[string]any{"Ref": "Table0123ABCD"}, "TwiceAAAAAAAA": nil, "TwiceBBBBBBBB": nil,
		"Code": strings.Repeat("0a", 32) + ".zip",
	}}.Readable()
	want := Template{"Resources": map[string]any{
		"Table": map[string]any{}, "A0123ABCD": map[string]any{"Ref": "Table"}, "TwiceAAAAAAAA": nil, "TwiceBBBBBBBB": nil, "Code": "ASSET.zip",
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}
