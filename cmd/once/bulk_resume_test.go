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

// What fails the function does not keep a run from the other records, what it had no time for
// is continued, and what it leaves is told.
func TestBulkResume(t *testing.T) {
	onStores(t, func(s *storeScene) {
		s.leaveBehind(6)
		s.claim("pay#silent", -time.Hour)
		var ids []string
		f := &resumer{}
		f.invoke = func(ctx context.Context, e handlers.ResumeEvent) (int, string, string) {
			ids = append(ids, e.IDs...)
			const did = "X-Amz-Executed-Version: 1"
			switch f.calls.Load() {
			case 1:
				return 200, "X-Amz-Function-Error: Unhandled", "{}"
			case 2:
				return 200, did, `{"operation":"pay"}`
			case 3:
				return 200, did, `{"operation":"pay","complete":true}`
			case 5:
				return 429, "X-Amzn-ErrorType: TooManyRequestsException", "{}"
			}
			_, ok, err := s.records.Change(ctx, driver.Fence{ID: e.IDs[0], Owner: "dead"}, driver.Change{Status: driver.Completed, Data: []byte("1"), Expires: time.Now().Add(time.Hour)})
			check.True(s, ok && err == nil, e.IDs, err)
			return 200, did, `{"operation":"pay","resumed":1,"complete":true}`
		}
		s.serve(f)
		journal := s.journalOf()
		args := []string{"resume", "--operation", "pay", "--function", "pay-resume"}
		s.ends(0, "1 are left as they are: its request is not stored", append(args, "--dry-run")...)
		r := s.run(s.with(append(args, "--yes", "--rate", "0", "--journal", journal, "--json")...)...)
		check.Equal(s, r.code, cli.CodeFailed, r.err)
		check.Contains(s, r.err, "is busy")
		check.Contains(s, r.out, `"done":1,"refused":2,"unknown":1,"left":3`)
		check.Contains(s, r.out, `"the function has not finished it: see its log":1`)
		s.ok(s.with("release", "--delete", "--force", "--yes", ids[0])...)
		r = s.run(s.with("resume", "--continue", journal, "--yes", "--json")...)
		check.Equal(s, r.code, cli.CodeUnacknowledged, r.err)
		check.Contains(s, r.out, `"done":4,"refused":2,"unknown":1,"left":0`)
		check.Equal(s, len(ids), 8, "invocations")
		slices.Sort(ids)
		check.Equal(s, len(slices.Compact(ids)), 6)
	})
}

// An error of the service, and an answer that is no report, do not say what was run.
func TestBulkResumeWithAnAnswerThatSaysNothingIsSettled(t *testing.T) {
	for status, body := range map[int]string{500: `{"Type":"Service"}`, 504: "", 200: `[]`} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			s := stores["DynamoDB"](t)
			s.leaveBehind(1)
			s.serve(&resumer{invoke: func(ctx context.Context, e handlers.ResumeEvent) (int, string, string) {
				_, ok, err := s.records.Change(ctx, driver.Fence{ID: e.IDs[0], Owner: "dead"}, driver.Change{Status: driver.Completed, Data: []byte("1"), Expires: time.Now().Add(time.Hour)})
				check.True(s, ok && err == nil, e.IDs, err)
				return status, "X-Amzn-ErrorType: ServiceException", body
			}})
			journal := s.journalOf()
			r := s.run(s.with("resume", "--operation", "pay", "--function", "pay-resume", "--yes", "--journal", journal, "--json")...)
			check.Contains(s, r.out, `"done":0,"refused":0,"unknown":1,"left":0`, r.err)
			r = s.run(s.with("resume", "--continue", journal, "--yes", "--json")...)
			check.Contains(s, r.out, `"done":1,"refused":0,"unknown":0,"left":0`, r.err)
		})
	}
}
