package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// plantMany writes records of a key that waits for a person.
func (s *storeScene) plantMany(n int) {
	s.Helper()
	for i := range n {
		plant(s.T, s.records, driver.Record{
			ID: fmt.Sprintf("pay#%03d", i), Status: driver.InProgress, Owner: fmt.Sprint("dead ", i), Attempt: 1, Fingerprint: "f1",
			Lease: time.Now().Add(-time.Hour), Expires: time.Now().Add(24 * time.Hour),
		})
	}
}

// journalOf returns the name of a new journal.
func (s *storeScene) journalOf() string { return filepath.Join(s.TempDir(), "run.jsonl") }

type journalLine struct{ ID, Is, Why, Token, Owner string }

// lines reads a journal.
func (s *storeScene) lines(name string) (head map[string]any, all []journalLine) {
	s.Helper()
	text, err := os.ReadFile(name)
	check.Must(s, err)
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		var l journalLine
		into := any(&l)
		if i == 0 {
			into = &head
		}
		check.Must(s, json.Unmarshal([]byte(line), into), line)
		if i > 0 {
			all = append(all, l)
		}
	}
	return head, all
}

// A run leaves what has an objection, and says how many there are and why.
func TestBulkHasNoForce(t *testing.T) {
	for _, command := range []string{"release", "release --delete", "resolve --completed --no-result --by ann --reason outage", "resolve --failed no"} {
		t.Run(command, func(t *testing.T) {
			onStores(t, func(s *storeScene) {
				s.plantMany(4)
				s.claim("pay#running", time.Hour)
				s.finish("pay#finished", "1")
				s.claim("ship#other", -time.Hour)
				args := append(strings.Fields(command), "--operation", "pay")
				s.ends(0, "6 records of ", append(args, "--dry-run")...)
				journal := s.journalOf()
				r := s.typing("y\n", s.with(append(args, "--journal", journal, "--rate", "0")...)...)
				check.Equal(s, r.code, 0, r.err)
				check.Contains(s, r.err, "1 are left as they are: a call runs it.\n")
				check.Contains(s, r.err, "1 are left as they are: the "+map[bool]string{true: "work of this ", false: ""}[strings.Contains(command, "delete")]+"record is finished (COMPLETED), and ")
				check.Contains(s, r.err, "4 follow. Of the first: ")
				check.Equal(s, r.out, "4 records done, 2 refused, 0 perhaps written, 0 left\n")
				check.Equal(s, s.get("pay#running").Owner, "owner of pay#running")
				check.Equal(s, string(s.get("pay#finished").Data), "1")
				check.Equal(s, s.get("ship#other").Owner, "owner of ship#other")
				info, err := os.Stat(journal)
				check.Must(s, err)
				check.Equal(s, info.Mode().Perm(), os.FileMode(0o600))
				head, lines := s.lines(journal)
				check.Equal(s, len(lines), 6+1+4+4, lines)
				check.Equal(s, head["command"], any("once "+strings.Fields(command)[0]))
				s.ends(cli.CodeUsage, "exists: name a new one", append(args, "--journal", journal, "--yes")...)
				s.ends(0, "", strings.Fields(command)[0], "--continue", journal)
			})
		})
	}
}

// Two runs that have counted the same records write each once.
func TestTwoBulkRunsWriteEachRecordOnce(t *testing.T) {
	onStores(t, func(s *storeScene) {
		const n = 40
		s.plantMany(n)
		journals := []string{s.journalOf(), s.journalOf()}
		var runs []*dialog
		for i, journal := range journals {
			d := s.start(s.with("resolve", "--completed", "--no-result", "--state", "lapsed", "--by", fmt.Sprint(i), "--journal", journal, "--rate", "0", "--quiet")...)
			s.hear(d, "?")
			runs = append(runs, d)
		}
		for _, d := range runs {
			_, err := io.WriteString(d.answer, "y\n")
			check.Must(s, err)
		}
		wrote := 0
		for i, d := range runs {
			r := s.ended(d)
			_, lines := s.lines(journals[i])
			ends := map[string]int{}
			for _, l := range lines {
				if ends[l.Is]++; l.Is == "done" {
					check.Equal(s, s.get(l.ID).Owner, l.Token, l.ID)
					check.Equal(s, s.get(l.ID).Ended.By, fmt.Sprint(i), l.ID)
				}
			}
			wrote += ends["done"]
			check.Equal(s, ends["done"]+ends["refused"], n, r.err)
			check.Equal(s, r.code, map[bool]int{true: 0, false: cli.CodeFailed}[ends["done"] == n], r.err)
		}
		check.Equal(s, wrote, n)
	})
}

// What became of a write without an answer is looked up.
func TestBulkWriteWithALostAnswerIsSettled(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	onStores(t, func(s *storeScene) {
		s.plantMany(5)
		journal := s.journalOf()
		tap, flags := s.tapped()
		tap.set(func(write int, r *wire.Request) (*wire.Response, error) {
			switch write {
			case 1: // it may still arrive
				return nil, wire.ErrCut
			case 3:
				_, err := r.Send()
				check.Nil(s, err)
				return nil, wire.ErrCut
			}
			return r.Send()
		})
		r := s.run(append([]string{"resolve", "--failed", "no", "--prefix", "pay#", "--journal", journal, "--yes", "--json"}, flags...)...)
		check.Equal(s, r.code, cli.CodeUnacknowledged, r.err)
		check.Contains(s, r.out, `"selected":5,"done":4,"refused":0,"unknown":1,"left":0`)
		check.Contains(s, r.err, "1 records may have been written")
		r = s.run(append([]string{"resolve", "--continue", journal, "--yes"}, flags...)...)
		check.Equal(s, r.code, 0, r.err)
		check.Contains(s, r.out, "5 records done, ")
		s.isComplete(journal, 5)
	})
}

// A person's data is gone from all finished records of a selection, also after a lost answer.
func TestBulkRedact(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	onStores(t, func(s *storeScene) {
		for i := range 4 {
			s.finish(fmt.Sprint("pay#", i), `"Ada"`)
		}
		running := s.claim("pay#running", time.Hour)
		journal := s.journalOf()
		tap, flags := s.tapped()
		tap.set(func(write int, r *wire.Request) (*wire.Response, error) {
			answer, err := r.Send()
			if write == 1 {
				return nil, wire.ErrCut
			}
			return answer, err
		})
		r := s.run(append([]string{"redact", "--prefix", "pay#", "--by", "ann", "--journal", journal, "--yes"}, flags...)...)
		check.Equal(s, r.code, 0, r.err)
		check.Contains(s, r.out, "4 records done, 1 refused, 0 perhaps written, 0 left\n")
		for i := range 4 {
			got := s.get(fmt.Sprint("pay#", i))
			check.Equal(s, got.Unavailable, driver.Redacted)
			check.Equal(s, got.Ended.By, "ann")
		}
		check.Equal(s, s.get(running.ID).Owner, running.Owner)
	})
}

// An interrupt ends a run after the write under way, whose answer it notes.
func TestInterruptedBulkRunSaysHowFarItCame(t *testing.T) {
	onStores(t, func(s *storeScene) {
		s.plantMany(50)
		journal := s.journalOf()
		tap, flags := s.tapped()
		started := make(chan *dialog, 1)
		tap.set(func(write int, r *wire.Request) (*wire.Response, error) {
			if write == 2 {
				check.Nil(s, (<-started).cmd.Process.Signal(os.Interrupt))
			}
			return r.Send()
		})
		d := s.start(append([]string{"release", "--operation", "pay", "--journal", journal, "--yes", "--rate", "5"}, flags...)...)
		started <- d
		r := s.ended(d)
		check.Equal(s, r.code, cli.CodeFailed, r.err)
		check.Contains(s, r.err, "once: interrupted; ")
		check.Contains(s, r.err, " of 50 records are ended; continue with once release --continue "+journal)
		_, lines := s.lines(journal)
		check.Equal(s, lines[len(lines)-1].Is, "done", "the last line")
		r = s.run(append([]string{"release", "--continue", journal, "--yes", "--rate", "0"}, flags...)...)
		check.Equal(s, r.code, 0, r.err)
		s.isComplete(journal, 50)
	})
}

// A crash can tear the last line of a journal, and nothing else.
func TestTornJournal(t *testing.T) {
	s := stores["Redis"](t)
	s.plantMany(3)
	journal := s.journalOf()
	tap, tapped := s.tapped()
	s.killed(tap, 1, moments[1], append([]string{"release", "--operation", "pay", "--journal", journal, "--yes"}, tapped...)...)
	whole, err := os.ReadFile(journal)
	check.Must(t, err)
	continued := append([]string{"release", "--continue", journal, "--yes"}, tapped...)
	refused := func(text, says string) {
		t.Helper()
		check.Must(t, os.WriteFile(journal, []byte(text), 0o600))
		before := s.all()
		r := s.run(continued...)
		check.Equal(t, r.code, cli.CodeUsage, r.err)
		check.Contains(t, r.err, says)
		check.Equal(t, s.all(), before)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	refused("", "does not contain its whole selection")
	refused(strings.Join(lines[:3], ""), "does not contain its whole selection")
	refused(strings.Join(lines[:3], "")+"?\n"+strings.Join(lines[3:], ""), "line 4 of ")
	refused("{}\n", "line 1 of ")
	check.Must(t, os.WriteFile(journal, append(whole, `{"at":"20`...), 0o600))
	r := s.run(continued...)
	check.Equal(t, r.code, 0, r.err)
	s.isComplete(journal, 3)
}

// A journal continues what it has begun, where it has begun, and once at a time.
func TestJournalOfADifferentRunIsRefused(t *testing.T) {
	onStores(t, func(s *storeScene) {
		s.plantMany(3)
		journal := s.journalOf()
		tap, flags := s.tapped()
		here := &storeScene{s.scene, s.records, flags}
		s.killed(tap, 1, moments[0], here.with("release", "--operation", "pay", "--journal", journal, "--yes", "--reason", "outage")...)
		here.ends(cli.CodeUsage, "is the journal of once release", "resolve", "--continue", journal, "--yes")
		here.ends(cli.CodeUsage, "leave out --delete", "release", "--continue", journal, "--yes", "--delete")
		here.ends(cli.CodeUsage, "leave out --state", "release", "--continue", journal, "--yes", "--state", "lapsed")
		here.ends(cli.CodeUsage, "no such file", "release", "--continue", journal+"x", "--yes")
		s.ends(cli.CodeUsage, "is the journal of a run on ", "release", "--continue", journal, "--yes") // not through the proxy
		d := s.start(here.with("release", "--continue", journal)...)
		s.hear(d, "ended with 1 of 3 records; the other 2 follow")
		s.hear(d, "?")
		here.ends(cli.CodeUsage, "a run that has not ended writes the journal", "release", "--continue", journal, "--yes")
		_, err := io.WriteString(d.answer, "y\n")
		check.Must(s, err)
		check.Equal(s, s.ended(d).code, 0)
		s.isComplete(journal, 3)
		head, _ := s.lines(journal)
		check.Equal(s, head["reason"], any("outage"))
	})
}

func TestBulkRunsAreMeant(t *testing.T) {
	s := stores["Redis"](t)
	s.plantMany(2)
	journal := s.journalOf()
	for say, args := range map[string]string{
		"KEY is missing":              "release --operation pay --yes", // its variable may be unset
		"set --journal to a new file": "release --state lapsed --yes",
		"select records, as with":     "release --yes --journal " + journal,
		"--operation is empty":        "release --yes --operation= --journal " + journal,
		"--older-than is empty":       "release --yes --older-than 0s --journal " + journal,
		"one argument too many":       "release pay#000 --state lapsed --dry-run",
		"-force":                      "release --force --state lapsed --journal " + journal,
		"set either --completed":      "resolve --state lapsed --dry-run",
		"set --function":              "resume --state lapsed --dry-run",
		"--rate is negative":          "release --state lapsed --dry-run --rate -1",
		"no such file or directory":   "release --state lapsed --yes --journal " + journal + "/x",
		"only a failed record has":    "release --state lapsed --error x --dry-run",
	} {
		s.ends(cli.CodeUsage, say, strings.Fields(args)...)
	}
	s.ends(cli.CodeDeclined, "2 follow. Of the first: It will be released", "release", "--state", "lapsed", "--journal", journal)
	s.ends(0, "0 records of", "release", "--state", "running", "--journal", journal)
	_, err := os.Stat(journal)
	check.True(t, os.IsNotExist(err), "a journal of a run that was not confirmed")
	began := time.Now()
	s.prints("2 records done", "release", "--state", "lapsed", "--yes", "--rate", "10", "--journal", journal)
	check.True(t, time.Since(began) > time.Second/10, "two records at 10 a second")
	help := s.run("release", "--dry-run", "--help").err
	check.Contains(t, help, "no flag overrides an objection")
	check.Contains(t, help, "--older-than")
	check.Contains(t, s.run("release", "--help").err, "see once release --dry-run --help")
}

// A record that never expires needs a --retention, as in a command for one.
func TestBulkResolveNeedsARetention(t *testing.T) {
	s := stores["Redis"](t)
	kept := s.claim("pay#kept", -time.Hour)
	kept.ID, kept.Expires = "pay#waiting", time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	plant(t, s.records, kept)
	args := []string{"resolve", "--failed", "no", "--state", "waiting", "--yes", "--journal"}
	s.ends(cli.CodeRefused, "1 are left as they are: the record never expires", append(args, s.journalOf())...)
	s.prints("1 records done", append(args, s.journalOf(), "--retention", "7d")...)
	check.Equal(t, s.get("pay#kept").Status, driver.InProgress)
}

// What an operator has resolved, callers may have; a run on many has no place to ask about each.
func TestBulkLeavesWhatAnOperatorHasResolved(t *testing.T) {
	onStores(t, func(s *storeScene) {
		s.plantMany(2)
		s.ok(s.with("resolve", "pay#000", "--completed", "--no-result", "--yes")...)
		r := s.run(s.with("resolve", "--operation", "pay", "--failed", "no", "--journal", s.journalOf(), "--yes")...)
		check.Contains(s, r.err, "1 are left as they are: an operator has resolved it before")
		check.Contains(s, r.out, "1 records done, 1 refused")
		check.Equal(s, s.get("pay#000").Status, driver.Completed)
	})
}
