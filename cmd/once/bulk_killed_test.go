package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// A tap is a proxy that can stop the writes of a run.
type tap struct {
	mu     sync.Mutex
	writes int
	// at is called at each write, unless it is nil, with its number, and carries it.
	at func(write int, r *wire.Request) (*wire.Response, error)
}

func (s *storeScene) tapped() (*tap, []string) {
	s.Helper()
	tap := new(tap)
	flags, _ := s.behind(func(r *wire.Request) (*wire.Response, error) {
		isWrite := strings.Contains(r.Operation, "Update") || strings.Contains(r.Operation, "Delete") ||
			strings.Contains(r.Operation, "update") || strings.Contains(r.Operation, "delete") ||
			s.flags[0] == "--redis" && (bytes.Contains(r.Body, []byte("INPROGRESS")) || bytes.Contains(r.Body, []byte(driver.Redacted)))
		tap.mu.Lock()
		at, n := tap.at, tap.writes
		if isWrite {
			tap.writes++
		}
		tap.mu.Unlock()
		if at == nil || !isWrite {
			return r.Send()
		}
		return at(n, r)
	})
	return tap, flags
}

func (t *tap) set(at func(int, *wire.Request) (*wire.Response, error)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at, t.writes = at, 0
}

// moments are those at which a run is killed.
var moments = []string{"before a write", "before its answer", "with its answer"}

// killed runs a command that is killed at its nth write.
func (s *storeScene) killed(t *tap, n int, moment string, args ...string) {
	s.Helper()
	started := make(chan *dialog, 1)
	t.set(func(write int, r *wire.Request) (answer *wire.Response, err error) {
		if write < n {
			return r.Send()
		}
		if write > n { // between the answer and the end
			<-r.Context.Done()
			return nil, wire.ErrCut
		}
		if moment != moments[0] {
			answer, err = r.Send()
		}
		if d := <-started; moment == moments[2] {
			go func() { check.Nil(s, d.cmd.Process.Kill()) }()
			return answer, err
		} else {
			check.Nil(s, d.cmd.Process.Kill())
		}
		return nil, wire.ErrCut
	})
	d := s.start(args...)
	started <- d
	r := s.ended(d)
	check.Equal(s, d.cmd.ProcessState.String(), "signal: killed", r.err)
	t.set(nil)
}

// A run that is killed twice writes each record once, and its journal tells all.
func TestKilledBulkRunIsContinued(t *testing.T) {
	sizes := map[string]map[string]int{
		"resolve --failed no": {"--table": 200, "--postgres": 200, "--redis": 1000},
		"release":             {"--table": 20, "--postgres": 20, "--redis": 20},
		"release --delete":    {"--table": 20, "--postgres": 20, "--redis": 20},
		"redact":              {"--table": 20, "--postgres": 20, "--redis": 20},
	}
	for command, size := range sizes {
		t.Run(command, func(t *testing.T) {
			onStores(t, func(s *storeScene) {
				n, journal, name := size[s.flags[0]], s.journalOf(), strings.Fields(command)[0]
				state := "lapsed"
				if name == "redact" {
					state = "completed"
					for i := range n {
						s.finish(fmt.Sprintf("pay#%03d", i), "1")
					}
				} else {
					s.plantMany(n)
				}
				tap, flags := s.tapped()
				continued := append([]string{name, "--continue", journal, "--yes", "--rate", "0", "--quiet"}, flags...)
				args := append(append(strings.Fields(command), "--state", state, "--journal", journal, "--yes", "--rate", "0", "--quiet"), flags...)
				for range 2 {
					at, moment := rand.IntN(n/3), moments[rand.IntN(len(moments))]
					s.Log("killed at write ", at, " ", moment)
					s.killed(tap, at, moment, args...)
					args = continued
				}
				// One of the rest is taken over by an owner that lives.
				live := s.taken(journal)
				r := s.run(continued...)
				check.Equal(s, r.code, cli.CodeFailed, r.err)
				check.Contains(s, r.out, fmt.Sprintf("%d records done, 1 refused, 0 perhaps written, 0 left\n", n-1))
				if name != "redact" {
					check.Equal(s, s.get(live).Owner, "live", "the record of a live owner")
				}
				s.isComplete(journal, n)
				_, lines := s.lines(journal)
				for _, l := range lines {
					if l.ID == live && l.Is == "refused" {
						check.Equal(s, l.Why, "it has changed since it was selected")
					}
				}
			})
		})
	}
}

// taken has an owner take over the last record of a journal that no run has begun.
func (s *storeScene) taken(journal string) (id string) {
	s.Helper()
	_, lines := s.lines(journal)
	begun := map[string]bool{}
	for _, l := range lines {
		begun[l.ID] = begun[l.ID] || l.Is != "selected"
	}
	for _, l := range lines {
		if l.ID != "" && !begun[l.ID] {
			id = l.ID
		}
	}
	if s.get(id).Status == driver.Completed {
		s.ok(s.with("release", id, "--delete", "--force", "--yes")...)
		return id
	}
	c := driver.Change{Owner: "live", Lease: time.Now().Add(time.Hour), Expires: time.Now().Add(25 * time.Hour)}
	was := s.get(id)
	if _, ok, err := s.records.Change(s.Context(), driver.Fence{ID: id, Owner: was.Owner, Attempt: was.Attempt, Lease: was.Lease}, c); !ok || err != nil {
		s.Fatal(id, ok, err)
	}
	return id
}

// isComplete checks a journal against the records: one token and one end for each.
func (s *storeScene) isComplete(journal string, n int) {
	s.Helper()
	_, lines := s.lines(journal)
	ends, tokens := map[string][]string{}, map[string]string{}
	for _, l := range lines {
		switch l.Is {
		case "begun":
			if was, again := tokens[l.ID]; again {
				check.Equal(s, l.Token, was, l.ID, "has two tokens")
			}
			tokens[l.ID] = l.Token
		case "done", "refused":
			ends[l.ID] = append(ends[l.ID], l.Is)
		}
	}
	check.Equal(s, len(ends), n, "records that have ended")
	for id, end := range ends {
		check.Equal(s, len(end), 1, id, "ends", end)
	}
	for id, r := range s.stored() {
		if r.Status == driver.Completed && len(r.Data) > 0 {
			s.Error(id, " is not redacted")
		}
		if ends[id][0] != "done" || r.Status == driver.Completed {
			continue
		}
		if tokens[id] == "" {
			check.Equal(s, r.Refunds, 1, id, "refunds")
		}
		check.Equal(s, r.Owner, tokens[id], id)
	}
}
