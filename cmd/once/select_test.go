package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// fail fails a claimed record, as a function did so long ago.
func (s *storeScene) fail(id, data string, e driver.Ending) {
	s.Helper()
	c := driver.Change{Status: driver.Failed, Data: []byte(data), Expires: time.Now().Add(48 * time.Hour), Ended: e}
	if _, ok, err := s.records.Change(s.Context(), driver.Fence{ID: id, Owner: s.claim(id, time.Hour).Owner}, c); !ok || err != nil {
		s.Fatal(ok, err)
	}
}

// matches returns the ids that a list shows, in its order.
func (s *storeScene) matches(args ...string) (ids []string) {
	s.Helper()
	for line := range strings.Lines(s.ok(s.with(append([]string{"list"}, args...)...)...)) {
		if fields := strings.Fields(line); fields[0] != "STATUS" {
			ids = append(ids, fields[len(fields)-1])
		}
	}
	return ids
}

func TestListSelectsByErrorStateTimeAndAttempt(t *testing.T) {
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	onStores(t, func(s *storeScene) {
		const text = `{"type":"CardDeclined","message":"the card of Ada","code":"51"}`
		s.fail("pay#new", text, driver.Ending{At: ago(time.Hour), Type: "CardDeclined", Code: "51"})
		s.fail("pay#sealed", "\x00\x01", driver.Ending{At: ago(2 * time.Hour), Type: "CardDeclined"})
		s.fail("pay#old", text, driver.Ending{At: ago(30 * time.Hour), Type: "CardDeclined", Code: "51"})
		s.fail("pay#before", text, driver.Ending{}) // of an earlier version
		s.fail("pay#other", `{"type":"Timeout"}`, driver.Ending{At: ago(90 * time.Minute), Type: "Timeout"})
		s.claim("pay#lapsed", -3*time.Hour)
		s.claim("pay#running", time.Hour)
		never := s.claim("pay#stuck", -time.Minute)
		never.ID, never.Attempt, never.Expires = "pay#kept", 4, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
		plant(s.T, s.records, never)
		for args, want := range map[string]string{
			"--error CardDeclined --sort record":             "pay#before pay#new pay#old pay#sealed",
			"--error CardDeclined/51 --sort record":          "pay#before pay#new pay#old",
			"--error CardDeclined --since 24h --sort record": "pay#new pay#sealed",
			"--error CardDeclined --until 24h":               "pay#old",
			"--state in-progress --sort record":              "pay#kept pay#lapsed pay#running pay#stuck",
			"--state failed --sort since":                    "pay#old pay#sealed pay#other pay#new pay#before",
			"--state failed --sort since --limit 2":          "pay#old pay#sealed",
			"--state lapsed --until 2h":                      "pay#lapsed",
			"--state waiting":                                "pay#kept",
			"--state running --state lapsed --sort record":   "pay#kept pay#lapsed pay#running pay#stuck",
			"--attempt 2": "pay#kept",
			"--since 2001-01-31 --until 2001-01-31T15:04:05Z": "",
		} {
			got := s.matches(strings.Fields(args)...)
			check.Equal(s, strings.Join(got, " "), want, args)
		}
		check.Lacks(s, s.prints("CardDeclined/51", "list"), "Ada", "the text of an error is shown")
		s.prints(`"ended":{"at":`, "list", "--json", "--error", "CardDeclined")
		s.prints("CardDeclined 4, Timeout 1", "stats")
		check.Equal(s, len(s.matches("--limit", "3")), 3)
		r := s.run(s.with("list", "--error", "CardDeclined", "--since", "24h", "--sort", "since", "--limit", "1")...)
		check.Equal(s, r.err, "1 records do not tell since when they are as they are, and are not listed\nthere are 1 more\n")
		// One that was taken over does not tell when that was.
		again := s.claim("pay#first", time.Hour)
		again.ID, again.Attempt, again.Began = "pay#again", 2, ago(2*time.Hour)
		plant(s.T, s.records, again)
		check.Contains(s, s.run(s.with("list", "--state", "running", "--since", "1h")...).err, " records do not tell since when")
		s.ends(cli.CodeUsage, "only a failed record has an --error", "list", "--error", "x", "--state", "completed")
		s.ends(cli.CodeUsage, "is a variable unset?", "resolve", "pay#lapsed", "--failed", "no", "--yes", "--by", "")
		for _, args := range []string{"--state gone", "--since soon", "--sort size", "--limit -1"} {
			s.ends(cli.CodeUsage, "", append([]string{"list"}, strings.Fields(args)...)...)
		}
	})
}

type CardDeclined struct{}

func (*CardDeclined) Error() string { return "the card was declined" }

func (*CardDeclined) ErrorCode() string { return "51" }

// What the engine stores is what the operator looks for.
func TestErrorOfAFunctionIsFound(t *testing.T) {
	onStores(t, func(s *storeScene) {
		x, err := idempotent.New("pay", s.records, nil)
		check.Must(s, err)
		_, err = idempotent.Do(s.Context(), x, idempotent.Key{ID: "1"}, func(context.Context) (int, error) {
			return 0, idempotent.Permanent(&CardDeclined{})
		})
		check.Says(s, err, "declined")
		check.Equal(s, len(s.matches("--error", "CardDeclined/51", "--since", "1h")), 1)
	})
}

func TestScanOfALargeTableIsAskedFor(t *testing.T) {
	s := newScene(t)
	s.samples()
	url := s.through(func(operation string, answer *wire.Response) error {
		if operation == "DescribeTable" {
			answer.Header.Del("Content-Length")
			answer.Header.Del("X-Amz-Crc32")
			answer.Body = bytes.Replace(answer.Body, []byte(`"TableSizeBytes":`), []byte(`"TableSizeBytes":16384000000,"Was":`), 1)
		}
		return nil
	})
	for _, command := range []string{"list", "stats"} {
		r := s.typing("n\n", command, "--endpoint", url)
		check.Equal(t, r.code, cli.CodeDeclined, command)
		check.Contains(t, r.err, "about 10 items in 16.4 GB. To read them costs about 2000000 read units.")
		check.Contains(t, r.err, "not confirmed; nothing was read")
		check.Equal(t, r.out, "", command)
		check.Contains(t, s.typing("y\n", command, "--endpoint", url).out, "pay", command)
		check.Contains(t, s.ok(command, "--endpoint", url, "--yes"), "pay", command)
	}
}

func TestTableWhoseSizeIsNotKnownIsRead(t *testing.T) {
	s := newScene(t)
	s.samples()
	r := s.run("list", "--endpoint", s.through(func(operation string, answer *wire.Response) error {
		if operation == "DescribeTable" {
			denies(answer)
		}
		return nil
	}))
	check.Equal(t, r.code, 0)
	check.Contains(t, r.err, "how much there is to read is not known")
	check.Contains(t, r.out, "pay#failed")
}

func TestProgressKnowsItsTotal(t *testing.T) {
	p := &store.Progress{To: io.Discard, Total: 40_000}
	p.Page(driver.Progress{Read: 6000})
	check.Equal(t, p.String(), "read 6000 of about 40000 records")
	p.Page(driver.Progress{Read: 36_000})
	check.Equal(t, p.String(), "read 42000 records") // it has grown
}

func TestUnreadableRecordFailsEveryCall(t *testing.T) {
	s := newScene(t)
	s.put(map[string]types.AttributeValue{"id": text("pay#1"), "status": text("COMPLETED"), "owner": text("o"), "attempt": text("one"), "data": text("1")})
	check.Contains(t, s.ok("inspect", "--json", "pay#1"), `"next":"fails"`)
	check.Contains(t, s.ok("inspect", "pay#1"), "calls fail")
	s.put(map[string]types.AttributeValue{
		"id": text("pay#2"), "status": text("INPROGRESS"), "attempt": number(1), "in_progress_expiration": number(1_600_000_000_000),
		"owner": text("execution-1:arn:aws:lambda:eu-west-1:1:function:f"),
	})
	check.Contains(t, s.ok("inspect", "--json", "pay#2"), `"next":"asks"`)
}
