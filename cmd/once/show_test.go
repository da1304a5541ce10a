package main

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
)

// golden compares an output with a section of the golden file of its command, the first
// word of the name. Times relative to the test are replaced: "(2 days ago)" by "(AGO)".
func golden(t *testing.T, name, got string) {
	t.Helper()
	got = regexp.MustCompile(`\((in )?[0-9hms]+( days)?( ago)?\)`).ReplaceAllString(got, "(AGO)")
	command, _, _ := strings.Cut(name, "-")
	check.Golden(t, filepath.Join("testdata", command+".golden"), name, got, os.Getenv("UPDATE_GOLDEN") != "")
}

// samples are records of all kinds. Their times are far away.
func (s *scene) samples() {
	s.Helper()
	past, future := number(1_600_000_000_000), number(32_503_680_000_000)
	never, kept := number(253402300799), number(32_503_680_000)
	steps := &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"reserve": text("=1"), "charge": text("=2")}}
	for id, item := range map[string]map[string]types.AttributeValue{
		"pay#running":   {"status": text("INPROGRESS"), "owner": text("alive"), "attempt": number(1), "in_progress_expiration": future, "expiration": never},
		"pay#lapsed":    {"status": text("INPROGRESS"), "owner": text("dead"), "attempt": number(3), "refunds": number(1), "in_progress_expiration": past, "expiration": never, "validation": text("f1"), "steps": steps},
		"pay#released":  {"status": text("INPROGRESS"), "attempt": number(1), "in_progress_expiration": number(0), "expiration": never},
		"pay#completed": {"status": text("COMPLETED"), "owner": text("o1"), "attempt": number(1), "expiration": kept, "data": text(`{"name":"Ada <Lovelace>"}`)},
		"pay#failed":    {"status": text("FAILED"), "owner": text("o2"), "attempt": number(2), "expiration": kept, "data": text(`{"type":"Declined","message":"no"}`)},
		"pay#over":      {"status": text("COMPLETED"), "owner": text("o3"), "attempt": number(1), "expiration": number(1_600_000_000), "data": text("1")},
		// Powertools for Python, for TypeScript, and one that is not a record of anybody.
		"app.charge#py": {"status": text("INPROGRESS"), "expiration": kept},
		"app.charge#ts": {"status": text("COMPLETED"), "expiration": kept, "data": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"name": text("Ada")}}},
		"\x1b[2Jbroken": {"status": text("PAUSED"), "attempt": text("one"), "in_progress_expiration": number(-5), "data": &types.AttributeValueMemberB{Value: []byte("?")}},
		"customer#1":    {"name": text("not a record")},
	} {
		item["id"] = text(id)
		s.put(item)
	}
}

func TestInspectShowsRecordsOfAllKinds(t *testing.T) {
	s := newScene(t)
	s.samples()
	for _, id := range []string{"pay#running", "pay#lapsed", "pay#released", "pay#completed", "pay#failed", "pay#over", "app.charge#py", "app.charge#ts"} {
		name := "inspect-" + id[strings.Index(id, "#")+1:]
		golden(t, name, s.ok("inspect", id))
		golden(t, name+"-json", s.ok("inspect", "--json", id))
	}
	golden(t, "inspect-broken", s.ok("inspect", "\x1b[2Jbroken"))
	golden(t, "inspect-broken-json", s.ok("inspect", "--json", "\x1b[2Jbroken"))
}

func TestResultsAreShownOnDemandOnly(t *testing.T) {
	s := newScene(t)
	s.samples()
	file := filepath.Join(t.TempDir(), "new.json")
	check.Must(t, os.WriteFile(file, []byte(`"Ada"`), 0o600))
	for _, args := range [][]string{
		{"inspect", "pay#completed"},
		{"inspect", "pay#completed", "--json"},
		{"inspect", "app.charge#ts"},
		{"list"},
		{"list", "--json"},
		{"stats", "--json"},
		{"resolve", "pay#lapsed", "--retention", "24h", "--completed", "--data", file, "--yes", "--json"},
		{"release", "pay#completed", "--delete", "--force", "--yes", "--json"},
	} {
		if r := s.run(args...); r.code != 0 || strings.Contains(r.out+r.err, "Ada") {
			t.Errorf("once %s: exit %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
		}
	}
	golden(t, "data-native", s.ok("inspect", "app.charge#ts", "--data"))
	check.Contains(t, s.ok("inspect", "pay#lapsed", "--data", "--json"), `"result":"Ada"`, "inspect --data --json")
}

// completed writes completed records.
func (s *scene) completed(records ...driver.Record) {
	for i := range records {
		records[i].Status, records[i].Expires = driver.Completed, time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	plant(s.T, s.store, records...)
}

// A result that is compressed, or could not be stored, is shown as functions get it.
func TestInspectShowsEveryStoredForm(t *testing.T) {
	s := newScene(t)
	long := `"` + strings.Repeat("x", 5000) + `"`
	s.completed(
		driver.Record{ID: "pay#long", Data: []byte(long)},
		driver.Record{ID: "pay#lost", Unavailable: "it was too large"},
		driver.Record{ID: "pay#binary", Data: []byte{0xff, 1}},
	)
	if out := s.ok("inspect", "pay#long", "--data"); !strings.Contains(out, "\n"+long+"\n") || !strings.Contains(out, "data         text of 5002 bytes") {
		t.Errorf("compressed: %.300s", out)
	}
	golden(t, "data-lost", s.ok("inspect", "pay#lost", "--data"))
	golden(t, "data-binary", s.ok("inspect", "pay#binary", "--data"))
	golden(t, "data-binary-json", s.ok("inspect", "pay#binary", "--data", "--json"))
}

// sealedText is a text that package seal has sealed with the key "2026".
const sealedText = "ff7365616c65643a0104323032360000a0a1a2a3a4a5a6a7a8a9aaab9d3a154967f120cf4f54a5ae52070a8e7d62efa926629ef7207241a5"

// A result that is elsewhere or sealed is named and not shown.
func TestInspectShowsWhereAResultIs(t *testing.T) {
	s := newScene(t)
	sealed, err := hex.DecodeString(sealedText)
	check.Must(t, err)
	s.completed(
		driver.Record{ID: "pay#elsewhere", Payload: "1:10485760:once/0f3a"},
		driver.Record{ID: "pay#sealed", Data: sealed},
		driver.Record{ID: "pay#forged", Payload: "\x1b[2J"},
	)
	for _, name := range []string{"elsewhere", "sealed"} {
		golden(t, "data-"+name, s.ok("inspect", "pay#"+name, "--data"))
		golden(t, "data-"+name+"-json", s.ok("inspect", "pay#"+name, "--data", "--json"))
	}
	if out := s.ok("inspect", "pay#forged"); strings.Contains(out, "\x1b") || !strings.Contains(out, "kept elsewhere") {
		t.Errorf("a reference that steers the terminal: %q", out)
	}
	if out := s.ok("list"); strings.Count(out, "COMPLETED") != 3 {
		t.Errorf("list: %s", out)
	}
	s.ok("stats")
}

// How a record was finished is shown without its result.
func TestInspectShowsHowARecordWasFinished(t *testing.T) {
	s := newScene(t)
	at := time.Date(2026, 11, 21, 7, 44, 7, 0, time.UTC)
	s.completed(
		driver.Record{ID: "pay#done", Data: []byte(`"Ada"`), Ended: driver.Ending{At: at}},
		driver.Record{ID: "pay#resolved", Data: []byte(`"Ada"`), Ended: driver.Ending{At: at, Type: "CardDeclined", Code: "51", By: "ann", Reason: "see #12"}},
		driver.Record{ID: "pay#forged", Ended: driver.Ending{Reason: "\x1b[2J"}},
	)
	for _, name := range []string{"done", "resolved", "forged"} {
		golden(t, "inspect-ended-"+name, s.ok("inspect", "pay#"+name))
		golden(t, "inspect-ended-"+name+"-json", s.ok("inspect", "pay#"+name, "--json"))
	}
}

// An expiration in milliseconds is a usual mistake of a hand.
func TestTimesOutOfRangeAreProblems(t *testing.T) {
	const say = `expiration\": it is not a whole number from 0 to 253402300799`
	s := newScene(t)
	s.samples()
	item := s.claimItem()
	item["expiration"], item["attempt"] = number(1_795_000_000_000), number(0)
	item["in_progress_expiration"] = number(1 << 60)
	s.put(item)
	for _, args := range [][]string{{"inspect", "pay#1"}, {"list"}, {"stats"}} {
		out := s.ok(append(args, "--json")...)
		if args[0] != "stats" && (!strings.Contains(out, say) || !strings.Contains(out, `attempt\": it is not`) || !strings.Contains(out, `in_progress_expiration\": it is not`)) {
			t.Errorf("%v: %s", args, out)
		}
		if lines := strings.Count(out, "\n"); args[0] == "list" && lines != 10 {
			t.Errorf("list has %d lines", lines)
		}
	}
	check.Contains(t, s.ok("release", "pay#1", "--delete", "--force", "--yes", "--json"), say)
}

func TestWritesAreShown(t *testing.T) {
	s := newScene(t)
	s.samples()
	r := s.run("release", "pay#lapsed", "--yes")
	golden(t, "release", r.err+"---\n"+r.out)
	s.samples()
	golden(t, "release-json", s.ok("release", "pay#lapsed", "--yes", "--json"))
	golden(t, "delete-json", s.ok("release", "pay#lapsed", "--delete", "--force", "--yes", "--json"))
}

func TestRenamedAndCompositeTableIsRead(t *testing.T) {
	client, table := dynamodblocal.NewTable(t)
	table += "-composite"
	options := &dynamo.Options{
		Layout: dynamo.Layout{ID: "PK", SortKey: "SK", Status: "st", Lease: "until", Data: "result", Partition: "idempotency#app", Shards: 4},
	}
	check.Must(t, dynamo.CreateTable(t.Context(), client, table, options))
	store, err := dynamo.New(client, table, options)
	check.Must(t, err)
	s := &scene{t, client, table, store}
	x := s.stuck()
	flags := []string{"--sort-key", "SK", "--partition", "idempotency#app", "--shards", "4",
		"--attribute", "id=PK", "--attribute", "status=st", "--attribute", "lease=until", "--attribute", "data=result"}
	if out := s.ok(append([]string{"list", "--operation", "pay"}, flags...)...); strings.Count(out, "released") != 1 {
		t.Errorf("list:\n%s", out)
	}
	if r := s.typing(`{"id":"p-7"}`, with("resolve", append(flags, "--retention", "24h", "--completed", "--data", "-", "--yes")...)...); r.code != 0 {
		t.Fatal(r)
	}
	if got, err := s.pay(x, "again"); err != nil || got.ID != "p-7" {
		t.Errorf("replayed %v, %v", got, err)
	}
}
