package main

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// pages are for each store the records of several pages, and what the request of a page
// contains. DynamoDB's first one has no position to continue at.
var pages = map[string]struct {
	records, first int
	request        string
}{
	"--table":    {12, 0, "ExclusiveStartKey"},
	"--postgres": {2500, 1, "ORDER BY stored"},
	"--redis":    {1300, 1, "\r\nscan\r\n"},
}

// A scan that does not reach the end prints where another one continues.
func TestScanThatDoesNotEndSaysWhereToContinue(t *testing.T) {
	onStores(t, func(s *storeScene) {
		s.Parallel()
		size := pages[s.flags[0]]
		for i := range size.records {
			id := fmt.Sprintf("pay#it's %d", i)
			if size.first == 0 {
				noise := make([]byte, 150<<10) // that is stored as it is; a page has 1 MB
				_, _ = rand.Read(noise)
				s.finish(id, hex.EncodeToString(noise))
				continue
			}
			plant(s.T, s.records, finished(id, -time.Hour))
		}
		all := s.listed(s.ok(s.with("list", "--json")...))
		check.Equal(s, len(all), size.records, "records")
		for _, end := range []os.Signal{os.Interrupt, syscall.SIGTERM, nil} {
			for _, command := range []string{"list", "stats"} {
				if end == nil && command == "stats" {
					continue // it would take --timeout once more
				}
				s.Run(fmt.Sprint(command, " ", end), func(t *testing.T) {
					s := &storeScene{&scene{T: t}, s.records, s.flags}
					timeout := "10m"
					if end == nil {
						timeout = slow
					}
					r := s.stopped(size.first, size.request, end, command, "--json", "--timeout", timeout)
					says := regexp.MustCompile(`once: (.*); read \d+ .*; continue with --after (\S+)\n$`).FindStringSubmatch(r.err)
					if r.code != cli.CodeFailed || says == nil {
						t.Fatalf("exit %d\n%s", r.code, r.err)
					}
					check.True(t, says[1] == "interrupted" || end == nil && strings.Contains(says[1], "no answer of "), says[1])
					rest := s.ok(s.with(command, "--json", "--after", says[2])...)
					if command == "list" {
						both := append(s.listed(r.out), s.listed(rest)...)
						slices.Sort(both)
						check.Slice(t, slices.Compact(both), all)
						return
					}
					var first, second struct {
						Operations []record.OperationStats
						After      string
					}
					check.Must(t, json.Unmarshal([]byte(r.out), &first))
					check.Must(t, json.Unmarshal([]byte(rest), &second))
					check.Equal(t, first.After, says[2])
					check.Equal(t, second.After, "")
					check.Equal(t, first.Operations[0].Completed+second.Operations[0].Completed, size.records)
				})
			}
		}
	})
}

// listed returns the ids that list has printed, sorted.
func (s *storeScene) listed(out string) (ids []string) {
	s.Helper()
	for line := range strings.Lines(out) {
		var r struct{ Record string }
		check.Must(s, json.Unmarshal([]byte(line), &r))
		ids = append(ids, r.Record)
	}
	slices.Sort(ids)
	return ids
}

// stopped runs a command of which such a request is not answered behind the first ones, and
// sends it a signal unless that is nil.
func (s *storeScene) stopped(first int, request string, end os.Signal, args ...string) ran {
	s.Helper()
	var asked atomic.Int32
	reached := make(chan struct{})
	var once sync.Once
	flags, _ := s.behind(func(r *wire.Request) (*wire.Response, error) {
		if bytes.Contains(r.Body, []byte(request)) && asked.Add(1) > int32(first) {
			once.Do(func() { close(reached) })
			<-r.Context.Done()
			return nil, wire.ErrCut
		}
		return r.Send()
	})
	d := s.start(append(args, flags...)...)
	left := make(chan struct{})
	go func() {
		select {
		case <-reached:
			if end != nil {
				check.Nil(s, d.cmd.Process.Signal(end))
			}
		case <-left: // it has ended before
		}
	}()
	defer close(left)
	return s.ended(d)
}

// The second signal is for a command that does not end.
func TestSecondInterruptEndsTheCommand(t *testing.T) {
	s := sweptScene(t)
	s.expired(1, 100)
	held := make(chan struct{})
	endpoint := s.through(func(operation string, _ *wire.Response) error {
		if operation == "DeleteItem" {
			close(held)
			<-t.Context().Done()
		}
		return nil
	})
	d := s.start("sweep", "--yes", "--timeout", "10m", "--endpoint", endpoint)
	<-held
	check.Must(t, d.cmd.Process.Signal(os.Interrupt))
	s.hear(d, "interrupted; waiting")
	check.Must(t, d.cmd.Process.Signal(os.Interrupt))
	_, err := io.Copy(io.Discard, d.rest)
	check.Nil(t, err)
	_ = d.cmd.Wait()
	check.Equal(t, d.cmd.ProcessState.String(), "signal: interrupt")
}
