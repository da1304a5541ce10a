package main

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The scheduled sweep of infra stores its position in the table that it sweeps.
func TestPositionOfAScheduledSweepIsNoRecord(t *testing.T) {
	s := sweptScene(t)
	s.put(map[string]types.AttributeValue{"id": text("once sweep"), "after": text("cGF5IzE")})
	for _, c := range []struct{ command, out string }{
		{"list --json", ""},
		{"stats --json", `{"operations":null,"items":1,"read_units":0.5}`},
		{"sweep --yes", "deleted 0 records that"},
	} {
		if got := s.ok(strings.Fields(c.command)...); !strings.HasPrefix(got, c.out) || c.out == "" && got != "" {
			t.Errorf("%s: got %q, want %q", c.command, got, c.out)
		}
	}
	for _, command := range []string{"release --delete", "resolve --completed --no-result"} {
		s.refused(codeRefused, "the item is not a record", append(strings.Fields(command), "--force", "--yes", "--record", "once sweep")...)
	}
	if items := s.items(); len(items) != 1 {
		t.Errorf("the table has %q", items)
	}
}
