package docs_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/lambda-once/once/dynamo"
)

// That the tables of options are complete is a test of proof/cmd/reference,
// which generates them.

func TestReferenceHasEveryAttributeOfARecord(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "docs/reference.md"), "\n## The record\n")
	section, _, _ = strings.Cut(section, "\n## ")
	attributes := reflect.TypeFor[dynamo.Attributes]()
	for i := range attributes.NumField() {
		if name := attributes.Field(i).Name; !strings.Contains(section, "| `"+name+"` |\n") && name != "SortKey" {
			t.Errorf("docs/reference.md has no row for the attribute %s", name)
		}
	}
}
