package docs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/emf"
	"github.com/lambda-once/once/internal/check"
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

// Every metric is in the reference with its unit and its dimensions, and no
// other is.
func TestReferenceHasEveryMetric(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "docs/reference.md"), "\n## Metrics\n")
	section, _, _ = strings.Cut(section, "\n## ")
	dimensions, rows := map[string][]string{}, map[string]string{}
	for _, m := range emf.Metrics() {
		dimensions[m.Name] = append(dimensions[m.Name], "`"+strings.Join(m.Dimensions, "`+`")+"`")
		rows[m.Name] = fmt.Sprintf("| `%s` | %s | %s | ", m.Name, m.Unit, strings.Join(dimensions[m.Name], ", "))
	}
	for name, row := range rows {
		check.True(t, strings.Contains(section, "\n"+row), "docs/reference.md has", name, row)
	}
	check.Equal(t, strings.Count(section, "| Count |")+strings.Count(section, "| Milliseconds |")+strings.Count(section, "| Seconds |"), len(rows), "metrics in docs/reference.md, and in the code")
}

// The reference names every member of a line beside the metrics.
func TestReferenceNamesEveryMemberOfALine(t *testing.T) {
	var out bytes.Buffer
	metrics, err := emf.New(&emf.Options{Writer: &out})
	check.Must(t, err)
	metrics.Observe(t.Context(), idempotent.Event{Operation: "op", Outcome: idempotent.OutcomeFailed, KeyHash: "h", Err: errors.New("secret")})
	var members map[string]any
	check.Must(t, json.Unmarshal(out.Bytes(), &members))
	page := read(t, "docs/reference.md")
	for name := range members {
		if name != "_aws" && !strings.Contains(page, "`"+name+"`") {
			t.Errorf("%s is not in docs/reference.md", name)
		}
	}
}
