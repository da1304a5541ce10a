package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// finished returns a record whose retention ended so long ago.
func finished(id string, ago time.Duration) driver.Record {
	return driver.Record{ID: id, Status: driver.Completed, Owner: "a", Attempt: 1, Expires: time.Now().Add(-ago)}
}

// assorted returns records, and those of them that a sweep deletes.
func assorted() (all []driver.Record, expired []string) {
	lease := func(r driver.Record, ends time.Duration) driver.Record {
		r.Status, r.Lease = driver.InProgress, time.Now().Add(ends)
		return r
	}
	never := finished("pay#never", 0)
	never.Expires = time.Time{}
	failed := finished("pay#failed", 2*time.Hour)
	failed.Status = driver.Failed
	return []driver.Record{
		never, failed, finished("pay#old", 2*time.Hour), lease(finished("pay#abandoned", 2*time.Hour), -2*time.Hour),
		finished("pay#half an hour", 30*time.Minute), lease(finished("pay#extended", 2*time.Hour), time.Hour), finished("pay#valid", -time.Hour),
	}, []string{"pay#failed", "pay#old", "pay#abandoned"}
}

// sweptScene is a scene whose table has no time to live.
func sweptScene(t *testing.T) *scene {
	t.Helper()
	s := newScene(t)
	off := &types.TimeToLiveSpecification{AttributeName: aws.String("expiration"), Enabled: aws.Bool(false)}
	if _, err := s.client.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{TableName: &s.table, TimeToLiveSpecification: off}); err != nil {
		t.Fatal(err)
	}
	return s
}

func plant(t *testing.T, store driver.Store, records ...driver.Record) {
	t.Helper()
	for _, r := range records {
		if _, ok, err := store.Create(t.Context(), r, time.Time{}, nil); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
}

// left returns which of the records are in the store.
func left(t *testing.T, store driver.Store, records []driver.Record) (ids []string) {
	t.Helper()
	for _, r := range records {
		got, err := store.Get(t.Context(), r.ID)
		check.Must(t, err)
		if got.Status != driver.Absent {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// sweeps checks that a dry run counts the records that a sweep then deletes.
func (s *scene) sweeps(store driver.Store, args ...string) {
	s.Helper()
	all, expired := assorted()
	plant(s.T, store, all...)
	args = append([]string{"sweep"}, args...)
	out := s.ok(append(args, "--dry-run")...)
	if got := left(s.T, store, all); !strings.HasPrefix(out, "found 3 records that expired before ") || strings.Contains(out, "more") || len(got) != len(all) {
		s.Errorf("a dry run says %q and leaves %q", out, got)
	}
	out = s.ok(append(args, "--yes")...)
	got := left(s.T, store, all)
	if !strings.HasPrefix(out, "deleted 3 records that expired before ") || strings.Contains(out, "more") || len(got) != len(all)-len(expired) {
		s.Errorf("it says %q and leaves %q", out, got)
	}
	for _, id := range expired {
		check.Lacks(s, fmt.Sprintf("%q", got), fmt.Sprintf("%q", id), id, "is left")
	}
	if out = s.ok(append(args, "--yes", "--older-than", "10m")...); !strings.HasPrefix(out, "deleted 1 records") {
		s.Errorf("the record that expired half an hour ago: %q", out)
	}
}

func TestSweepDeletesExpiredRecords(t *testing.T) {
	s := sweptScene(t)
	s.sweeps(s.store)
}

func TestSweepAsks(t *testing.T) {
	s := sweptScene(t)
	plant(t, s.store, finished("pay#old", 2*time.Hour))
	s.refused(cli.CodeDeclined, "will be deleted from table "+s.table+", at most 7 of them.\nGo on? [y/N] ", "sweep", "--limit", "7")
	if r := s.typing("y\n", "sweep"); r.code != 0 || len(s.items()) != 0 {
		t.Error(r)
	}
}

func TestSweepContinuesAfterItsLimit(t *testing.T) {
	s := sweptScene(t)
	for i := range 25 {
		plant(t, s.store, finished(fmt.Sprint("pay#", i), 2*time.Hour), finished(fmt.Sprint("pay#valid", i), -time.Hour))
	}
	args, total := []string{"sweep", "--yes", "--json", "--limit", "10"}, 0
	for _, want := range []int{10, 10, 5} {
		var got swept
		check.Must(t, json.Unmarshal([]byte(s.ok(args...)), &got))
		if got.Records != want || got.DryRun || got.Complete != (got.After == "") || got.Complete != (want == 5) {
			t.Errorf("it says %+v, want %d records", got, want)
		}
		total += got.Records
		args = append(args[:5:5], "--after", got.After)
	}
	if n := len(s.items()); total != 25 || n != 25 {
		t.Errorf("deleted %d, and %d are left", total, n)
	}
}

// The records that a laptop takes for expired are those that DynamoDB does.
func TestSweepUsesDynamoDBsClock(t *testing.T) {
	s := sweptScene(t)
	plant(t, s.store, finished("pay#1", 2*time.Hour))
	behind := s.through(func(_ string, answer *wire.Response) error {
		answer.Header.Set("Date", time.Now().Add(-3*time.Hour).UTC().Format(http.TimeFormat))
		return nil
	})
	if out := s.ok("sweep", "--yes", "--endpoint", behind); !strings.HasPrefix(out, "deleted 0 records") {
		t.Error(out)
	}
}

// It prints the number of deletions before the error, and where to continue.
func TestSweepThatFailsSaysWhatItDid(t *testing.T) {
	s := sweptScene(t)
	const all = 12
	s.expired(all, 300<<10)
	endpoint := s.through(func(operation string, answer *wire.Response) error {
		if operation == "Scan" && s.count() < all {
			denies(answer)
		}
		return nil
	})
	r := s.run("sweep", "--yes", "--endpoint", endpoint)
	_, after, found := strings.Cut(r.out, "there may be more; continue with --after ")
	if r.code != cli.CodeFailed || !found || !strings.HasPrefix(r.out, fmt.Sprintf("deleted %d records", all-s.count())) {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	s.ok("sweep", "--yes", "--after", strings.TrimSpace(after))
	check.Equal(t, s.count(), 0, "left")
}

// expired puts n expired records with results of so many bytes.
func (s *scene) expired(n, size int) {
	s.Helper()
	for i := range n {
		item := small(i)
		item["expiration"], item["data"] = number(time.Now().Add(-2*time.Hour).Unix()), text(strings.Repeat("x", size))
		s.put(item)
	}
}

// count returns the number of items, on however many pages.
func (s *scene) count() (n int) {
	s.Helper()
	pages := dynamodb.NewScanPaginator(s.client, &dynamodb.ScanInput{TableName: &s.table, Select: types.SelectCount})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.Context())
		check.Must(s, err)
		n += int(page.Count)
	}
	return n
}

// An interrupt ends a sweep after the calls under way, whose deletions count.
func TestInterruptedSweepSaysWhatItDid(t *testing.T) {
	for call, want := range map[string]struct {
		size   int // of a record: a page has 1 MB
		signal os.Signal
		says   string
	}{
		"DeleteItem": {100, os.Interrupt, "there may be more; the same command continues\n"},
		"Scan":       {300 << 10, syscall.SIGTERM, "there may be more; continue with --after "},
	} {
		t.Run(call, func(t *testing.T) {
			s := sweptScene(t)
			const all = 12
			s.expired(all, want.size)
			reached, noticed := make(chan struct{}), make(chan struct{})
			var once sync.Once
			endpoint := s.through(func(operation string, _ *wire.Response) error {
				if operation == call && s.count() < all {
					once.Do(func() { close(reached); <-noticed })
				}
				return nil
			})
			r := s.interrupted(want.signal, reached, noticed, "sweep", "--yes", "--endpoint", endpoint)
			n := all - s.count()
			if r.code != cli.CodeFailed || !strings.HasPrefix(r.out, fmt.Sprintf("deleted %d records", n)) || n == 0 || n == all ||
				!strings.Contains(r.out, want.says) || !strings.HasSuffix(r.err, "once: the sweep was interrupted\n") {
				t.Fatalf("exit %d, %d of %d are deleted\n%s%s", r.code, n, all, r.out, r.err)
			}
			args := []string{"sweep", "--yes"}
			if _, after, found := strings.Cut(r.out, "--after "); found {
				args = append(args, "--after", strings.TrimSpace(after))
			}
			s.ok(args...)
			check.Equal(t, s.count(), 0, "left")
		})
	}
}

// interrupted runs a command, and sends it a signal when reached is closed. It closes noticed
// when the command has said that it ends.
func (s *scene) interrupted(signal os.Signal, reached, noticed chan struct{}, args ...string) ran {
	s.Helper()
	d := s.start(args...)
	go func() {
		select {
		case <-reached:
			check.Nil(s, d.cmd.Process.Signal(signal))
		case <-noticed:
		}
	}()
	s.hear(d, "interrupted; waiting")
	close(noticed)
	return s.ended(d)
}
