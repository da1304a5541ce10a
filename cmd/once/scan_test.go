package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/cmd/once/internal/cli"
)

// sorted has the lines of a table behind its header, which come in the order
// of the table's hashes.
func sorted(out string) string {
	lines := strings.SplitAfter(out, "\n")
	slices.Sort(lines[1:])
	return strings.Join(lines, "")
}

func TestListShowsRecordsByTheirFlags(t *testing.T) {
	s := newScene(t)
	s.samples()
	golden(t, "list", sorted(s.ok("list")))
	golden(t, "list-json", sorted("\n"+s.ok("list", "--json")))
	golden(t, "list-stuck", sorted(s.ok("list", "--older-than", "15m")))
	golden(t, "list-prefix", sorted(s.ok("list", "--prefix", "pay#r")))
	golden(t, "list-operation", sorted(s.ok("list", "--operation", "pay", "--state", "completed")))
}

func TestStatsCountsEachOperation(t *testing.T) {
	s := newScene(t)
	s.samples()
	golden(t, "stats", s.ok("stats"))
	golden(t, "stats-json", s.ok("stats", "--json"))
	golden(t, "stats-operation", s.ok("stats", "--operation", "pay"))
}

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
		s.refused(cli.CodeRefused, "the item is not a record", append(strings.Fields(command), "--force", "--yes", "once sweep")...)
	}
	if items := s.items(); len(items) != 1 {
		t.Errorf("the table has %q", items)
	}
}
