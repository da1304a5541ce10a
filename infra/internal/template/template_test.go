package template

import (
	"reflect"
	"strings"
	"testing"
)

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
