package main

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// leaveBehind plants records with a request.
func (s *storeScene) leaveBehind(n int) {
	s.Helper()
	for i := range n {
		plant(s.T, s.records, driver.Record{
			ID: fmt.Sprintf("pay#%03d", i), Status: driver.InProgress, Owner: "dead", Attempt: 1, Lease: time.Now().Add(-time.Hour), Expires: time.Now().Add(time.Hour), Request: []byte("=1"),
		})
	}
}

// A record that fails its function does not keep a run from the others, and what a function
// had no time for is continued.
func TestBulkResumeGoesOnAfterItsFunctionFails(t *testing.T) {
	onStores(t, func(s *storeScene) {
		s.leaveBehind(30)
		var first []string
		f := &resumer{}
		f.invoke = func(ctx context.Context, e handlers.ResumeEvent) (int, string, string) {
			if f.calls.Load() == 1 {
				first = e.IDs
				return 200, "X-Amz-Function-Error: Unhandled", "{}"
			}
			complete := true
			for _, id := range e.IDs {
				if complete = id != first[1]; !complete {
					break
				}
				_, ok, err := s.records.Change(ctx, driver.Fence{ID: id, Owner: "dead"}, driver.Change{Status: driver.Completed, Data: []byte("1"), Expires: time.Now().Add(time.Hour)})
				check.True(s, ok && err == nil, id, err)
			}
			return 200, "X-Amz-Executed-Version: 1", fmt.Sprintf(`{"operation":"pay","complete":%v}`, complete)
		}
		s.serve(f)
		journal := s.journalOf()
		r := s.run(s.with("resume", "--operation", "pay", "--function", "pay-resume", "--yes", "--rate", "0", "--journal", journal, "--json")...)
		check.Equal(s, r.code, cli.CodeUnacknowledged, r.err)
		check.Contains(s, r.out, `"done":5,"changed":0,"refused":0,"unknown":25,"left":0`)
		s.ok(s.with("release", "--delete", "--force", "--yes", first[2])...)
		r = s.run(s.with("resume", "--continue", journal, "--yes", "--json")...)
		check.Contains(s, r.out, `"done":6,"changed":0,"refused":0,"unknown":1,"left":23`)
		first[1] = ""
		r = s.run(s.with("resume", "--continue", journal, "--yes", "--json")...)
		check.Contains(s, r.out, `"done":29,"changed":0,"refused":0,"unknown":1,"left":0`)
	})
}

// A function finishes the records of a run some at a time, and what it leaves is told.
func TestBulkResume(t *testing.T) {
	onStores(t, func(s *storeScene) {
		s.leaveBehind(30)
		s.claim("pay#silent", -time.Hour)
		var ids []string
		fails := true
		f := &resumer{invoke: func(ctx context.Context, e handlers.ResumeEvent) (int, string, string) {
			if len(ids) == 25 && fails {
				fails = false
				return 429, "X-Amzn-ErrorType: TooManyRequestsException", "{}"
			}
			for _, id := range e.IDs {
				if ids = append(ids, id); id == "pay#007" {
					continue
				}
				_, ok, err := s.records.Change(ctx, driver.Fence{ID: id, Owner: "dead"}, driver.Change{Status: driver.Completed, Data: []byte("1"), Expires: time.Now().Add(time.Hour)})
				check.True(s, ok && err == nil, id, err)
			}
			return 200, "X-Amz-Executed-Version: 1", `{"operation":"pay","resumed":1,"complete":true}`
		}}
		s.serve(f)
		journal := s.journalOf()
		args := []string{"resume", "--operation", "pay", "--function", "pay-resume"}
		s.ends(0, "1 are left as they are: its request is not stored", append(args, "--dry-run")...)
		r := s.run(s.with(append(args, "--yes", "--rate", "0", "--journal", journal)...)...)
		check.Equal(s, r.code, cli.CodeFailed, r.err)
		check.Contains(s, r.err, "is busy")
		r = s.run(s.with("resume", "--continue", journal, "--yes", "--json")...)
		check.Equal(s, r.code, cli.CodeFailed, r.err)
		check.Contains(s, r.out, `"done":29,"changed":0,"refused":2,"unknown":0,"left":0`)
		check.Contains(s, r.out, `"the function has not finished it: see its log":1`)
		check.Equal(s, f.calls.Load(), 3, "invocations")
		slices.Sort(ids)
		check.Equal(s, len(slices.Compact(ids)), 30)
	})
}
