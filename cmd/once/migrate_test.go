package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/internal/check"
)

// The ids that Powertools makes of the string "abc", under the prefix pay.
const (
	abcTypeScript = "pay#69n0x7BssKr10T2A5J2LkA=="
	abcPython     = "pay#ebd9f4c7b06cb0aaf5d13d80e49d8b90"
)

// finished writes a completed record of Powertools. validation and data may be
// absent.
func (s *scene) finished(id, validation string, data types.AttributeValue) {
	s.Helper()
	item := map[string]types.AttributeValue{
		"id": text(id), "status": text("COMPLETED"), "expiration": number(time.Now().Add(time.Hour).Unix()),
	}
	if validation != "" {
		item["validation"] = text(validation)
	}
	if data != nil {
		item["data"] = data
	}
	s.put(item)
}

// migrate looks one event up.
func (s *scene) migrate(event string, flags ...string) ran {
	s.Helper()
	before := s.items()
	r := s.typing(event, append([]string{"migrate", "--dry-run", "-", "--prefix", "pay", "--key", "id"}, flags...)...)
	if after := s.items(); strings.Join(after, "") != strings.Join(before, "") {
		s.Errorf("once migrate has written: %v, was %v", after, before)
	}
	return r
}

func TestMigrateSaysWhetherTheGoFunctionFindsTheRecord(t *testing.T) {
	object := &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"a": text("b")}}
	const event = `{"id":"abc","amount":1}`
	for name, c := range map[string]struct {
		event string
		write func(*scene)
		flags string
		code  int
		say   string
	}{
		"TypeScript": {event, func(s *scene) { s.finished(abcTypeScript, "", object) }, "--dialect typescript",
			0, "     1  found             " + abcTypeScript + "  completed\n1 events: 1 found\n"},
		"Python": {event, func(s *scene) { s.finished(abcPython, "", text(`{"a": "b"}`)) }, "--dialect python",
			0, "     1  found             " + abcPython + "  completed\n1 events: 1 found\n"},
		"an empty line before": {"\n" + event, func(s *scene) { s.finished(abcPython, "", text(`null`)) }, "--dialect python", 0, "     2  found"},
		"a byte order mark":    {"\ufeff" + event + "\r\n\ufeff" + event, func(s *scene) { s.finished(abcPython, "", text(`null`)) }, "--dialect python", 0, "2 events: 2 found"},
		"running":              {event, func(s *scene) { s.powertools(abcPython, time.Now().Add(time.Hour).UnixMilli()) }, "--dialect python", 0, "running"},
		"no lease":             {event, func(s *scene) { s.powertools(abcPython, 0) }, "--dialect python", 0, "leaseless"},
		"no record":            {event, func(*scene) {}, "--dialect python", cli.CodeNoRecord, "not found         " + abcPython + "  there is no record"},
		"of the other dialect": {event, func(s *scene) { s.finished(abcTypeScript, "", object) }, "--dialect python", cli.CodeNoRecord, "not found"},
		"another hash":         {event, func(s *scene) { s.finished(abcPython, "", object) }, "--dialect python --hash sha256", cli.CodeNoRecord, "not found"},
		"over": {event, func(s *scene) {
			s.put(map[string]types.AttributeValue{"id": text(abcPython), "status": text("COMPLETED"), "expiration": number(1)})
		}, "--dialect python", cli.CodeNoRecord, "its retention has ended"},
		"the same validation": {event, func(s *scene) { s.finished(abcPython, "c4ca4238a0b923820dcc509a6f75849b", text(`1`)) },
			"--dialect python --validation amount", 0, "found             " + abcPython + "  completed\n"},
		"another validation": {event, func(s *scene) { s.finished(abcPython, "c81e728d9d4c2f636f067f89cc14862c", text(`1`)) },
			"--dialect python --validation amount", cli.CodeNotRight, "not replayable    " + abcPython + "  its record has a different payload"},
		"validation only here": {event, func(s *scene) { s.finished(abcPython, "", text(`1`)) },
			"--dialect python --validation amount", 0, "without a validation"},
		"validation only there": {event, func(s *scene) { s.finished(abcPython, "c81e728d9d4c2f636f067f89cc14862c", text(`1`)) },
			"--dialect python", cli.CodeNotRight, "not validated     " + abcPython + "  the Go function does not compare the payload: set --validation"},
		"validation only there, running": {event, func(s *scene) {
			s.put(map[string]types.AttributeValue{
				"id": text(abcPython), "status": text("INPROGRESS"), "validation": text("c81e728d9d4c2f636f067f89cc14862c"),
				"expiration": number(time.Now().Add(time.Hour).Unix()), "in_progress_expiration": number(time.Now().Add(time.Hour).UnixMilli()),
			})
		}, "--dialect python", cli.CodeNotRight, "not validated"},
		"a plain string":  {event, func(s *scene) { s.finished(abcPython, "", text(`done`)) }, "--dialect python", cli.CodeNotRight, "not replayable    " + abcPython + "  its result is not JSON"},
		"a set":           {event, func(s *scene) { s.finished(abcTypeScript, "", &types.AttributeValueMemberSS{Value: []string{"a"}}) }, "--dialect typescript", cli.CodeNotRight, "calls cannot read its record"},
		"a Buffer":        {event, func(s *scene) { s.finished(abcTypeScript, "", &types.AttributeValueMemberB{Value: []byte("abc")}) }, "--dialect typescript", cli.CodeNotRight, "calls cannot read its record"},
		"undefined":       {event, func(s *scene) { s.finished(abcTypeScript, "", nil) }, "--dialect typescript", cli.CodeNotRight, "the function returned nothing"},
		"a payload store": {event, func(s *scene) { s.finished(abcPython, "", &types.AttributeValueMemberB{Value: []byte("ponce/1")}) }, "--dialect python", cli.CodeNotRight, "in a payload store"},
		"did not fit":     {event, func(s *scene) { s.finished(abcPython, "", &types.AttributeValueMemberB{Value: []byte("utoo large")}) }, "--dialect python", cli.CodeNotRight, "completed without its result: too large"},
		"no key":          {`{"amount":1}`, func(*scene) {}, "--dialect python", cli.CodeNoRecord, "     1  no key            the Go function refuses it"},
		"an empty key":    {`{"id":""}`, func(*scene) {}, "--dialect typescript", cli.CodeNoRecord, "no key"},
		"an empty key, hashed": {`{"id":""}`, func(s *scene) { s.finished("pay#nUVowAnSA6sQ4z6plToCZA==", "", object) }, "--dialect typescript --hash-missing",
			0, "found"},
		"no event": {`{"id":`, func(*scene) {}, "--dialect python", cli.CodeNoRecord, "no key"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			c.write(s)
			r := s.migrate(c.event, strings.Fields(c.flags)...)
			if r.code != c.code || !strings.Contains(r.out, c.say) {
				t.Errorf("exit %d, want %d and %q:\n%s%s", r.code, c.code, c.say, r.out, r.err)
			}
		})
	}
}

// The worst event decides the code, and the end has the sum.
func TestMigrateCountsAllEventsOfAFile(t *testing.T) {
	s := newScene(t)
	s.finished(abcPython, "", text(`"ok"`))
	s.finished("pay#04cd0e0151f352e7fd414d694a604136", "", text(`ok`)) // [1,2]
	file := filepath.Join(t.TempDir(), "events.jsonl")
	events := `{"id":"abc"}` + "\r\n" + `{"id":"xyz"}` + "\n" + `{"id":[1,2]}` + "\n" + `{"id":"abc"}`
	check.Must(t, os.WriteFile(file, []byte(events), 0o600))
	args := []string{"migrate", "--dry-run", file, "--prefix", "pay", "--key", "id", "--dialect", "python"}
	r := s.run(args...)
	if r.code != cli.CodeNotRight || !strings.Contains(r.err, "could not replay 1 of the records") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	golden(t, "migrate", r.out)
	golden(t, "migrate-json", s.run(append(args, "--json")...).out)
}

// The flag is named also where some records are not replayable.
func TestMigrateWithoutTheValidationOfTheRecordsNamesTheFlag(t *testing.T) {
	s := newScene(t)
	s.finished(abcPython, "c81e728d9d4c2f636f067f89cc14862c", text(`1`))
	s.finished("pay#04cd0e0151f352e7fd414d694a604136", "", text(`ok`)) // [1,2]
	r := s.migrate(`{"id":"abc"}`+"\n"+`{"id":[1,2]}`, "--dialect", "python")
	if r.code != cli.CodeNotRight || !strings.Contains(r.err, "1 of the records have a validation: set --validation") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	check.Contains(t, r.out, "2 events: 1 not validated, 1 not replayable\n")
}

// A recording that failed must not look like a migration that is safe.
func TestMigrateOfNoEventsIsUsedWrongly(t *testing.T) {
	s := newScene(t)
	for name, events := range map[string]string{"an empty file": "", "empty lines": "\n \r\n\n"} {
		for _, format := range []string{"--json=false", "--json"} {
			r := s.migrate(events, "--dialect", "python", format)
			if r.code != cli.CodeUsage || !strings.Contains(r.err, "EVENTS has no event") {
				t.Errorf("%s, %s: exit %d: %s%s", name, format, r.code, r.out, r.err)
			}
		}
	}
}

// As one event, an array would have one key, or none, for all of its events.
func TestMigrateOfAnArrayIsUsedWrongly(t *testing.T) {
	s := newScene(t)
	s.finished(abcPython, "", text(`null`))
	for name, c := range map[string]struct{ events, say string }{
		"one line":      {`[{"id":"abc"},{"id":"xyz"}]`, "line 1 of EVENTS begins a JSON array: write one event in each line"},
		"several lines": {"\ufeff[\n  {\"id\": \"abc\"}\n]\n", "line 1 of EVENTS"},
		"behind events": {`{"id":"abc"}` + "\n" + `[{"id":"abc"}]`, "line 2 of EVENTS"},
	} {
		if r := s.migrate(c.events, "--dialect", "python"); r.code != cli.CodeUsage || !strings.Contains(r.err, c.say) {
			t.Errorf("%s: exit %d, want %q: %s%s", name, r.code, c.say, r.out, r.err)
		}
	}
}
