package docs_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/dynamo"
)

// That the tables of options are complete is a test of proof/cmd/reference,
// which generates them.

func TestReferenceHasEveryAttributeOfARecord(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "docs/reference.md"), "\n## The record\n")
	section, _, _ = strings.Cut(section, "\n## ")
	layout := reflect.TypeFor[dynamo.Layout]()
	keys := []string{"Partition", "Shards", "SortKey"}
	for i := range layout.NumField() {
		if name := layout.Field(i).Name; !strings.Contains(section, "| `"+name+"` |\n") && !slices.Contains(keys, name) {
			t.Errorf("docs/reference.md has no row for the attribute %s", name)
		}
	}
}
