package dynamo

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// resuming reads what the index names on the table, as handlers.Resume does.
type resuming struct{ *Store }

func (r resuming) Scan(ctx context.Context, f driver.Filter, after string) (driver.Page, error) {
	page, err := r.Store.Scan(ctx, f, after)
	if err != nil || !r.readsIndex(f) {
		return page, err
	}
	entries := page.Entries
	page.Entries = nil
	for _, e := range entries {
		found, err := r.Get(ctx, e.ID)
		if err != nil {
			return page, err
		}
		if f.Brief {
			found.Data, found.Payload, found.Unavailable, found.Steps, found.Request = nil, "", "", nil, nil
		}
		if f.Selects(found) {
			page.Entries = append(page.Entries, driver.Entry{Record: found, At: page.At})
		}
	}
	return page, nil
}

var resumingOptions = map[string]*Options{
	"one key":   {Resume: true},
	"composite": {Resume: true, Layout: Layout{ID: "pk", SortKey: "sk", Lease: "until", Partition: "idempotency#f", Shards: 3}},
}

// The index has only what is in progress, so the search for it costs nothing for the rest.
func TestIndexOfLapsedRecordsIsReadInPages(t *testing.T) {
	for name, o := range resumingOptions {
		t.Run(name, func(t *testing.T) {
			s := inOwnTable(t, o)
			for n := range 7 {
				r := claim(fmt.Sprint("op#", n))
				r.Lease = now.Add(time.Duration(n) * time.Second)
				create(t, s, r)
			}
			released := claim("op#released")
			create(t, s, released)
			change(t, s, fence(released.ID), driver.Change{Release: driver.ReleaseKeep}, true)
			done := claim("op#done")
			create(t, s, done)
			change(t, s, fence(done.ID), driver.Change{Status: driver.Completed}, true)
			create(t, s, claim("other#1"))

			f := driver.Filter{Status: driver.InProgress, Prefix: "op#", Lapsed: now.Add(5 * time.Second), Limit: 2, Brief: true}
			found, read := map[string]driver.Record{}, 0
			for after := ""; ; {
				page, err := s.Scan(t.Context(), f, after)
				check.Must(t, err)
				for _, e := range page.Entries {
					check.Deep(t, e, driver.Entry{Record: driver.Record{ID: e.ID, Lease: e.Lease}, At: page.At})
					found[e.ID] = e.Record
				}
				read += page.Read
				if after = page.Next; after == "" {
					break
				}
			}
			check.Equal(t, read, 9, "the records in progress")
			check.Equal(t, len(found), 6, "op#0 to op#4, and the released one")
			check.True(t, found["op#released"].Lease.Equal(driver.LeaseEnded), found)
			check.True(t, found["op#4"].Lease.Equal(now.Add(4*time.Second)), found)

			_, err := s.Scan(t.Context(), f, s.encodePosition(s.format.Key("op#1"))) // of the table
			check.As[*driver.ConfigError](t, err)
		})
	}
}

// What the index lacks is looked up on the table.
func TestFilterThatTheIndexLacksReadsTheTable(t *testing.T) {
	s := inOwnTable(t, resumingOptions["one key"])
	create(t, s, claim("op#1"))
	page, err := s.Scan(t.Context(), driver.Filter{Lapsed: now.Add(time.Hour), Expired: now.Add(2 * time.Hour)}, "")
	check.Must(t, err)
	check.Equal(t, len(page.Entries), 1)
	check.Equal(t, page.Entries[0].Owner, owner)
	page, err = s.Scan(t.Context(), driver.Filter{Lapsed: now.Add(time.Hour), Status: driver.Completed}, "")
	check.Must(t, err)
	check.Equal(t, len(page.Entries), 0)
}

// In a table with composite keys, the index has the records of other stores.
func TestIndexNamesOnlyTheRecordsOfTheStore(t *testing.T) {
	o := *resumingOptions["composite"]
	s := inOwnTable(t, &o)
	o.Layout.Partition = "another"
	another := newStore(t, s.client, s.table, &o)
	create(t, s, claim("op#1"))
	create(t, another, claim("op#2"))
	page, err := s.Scan(t.Context(), driver.Filter{Lapsed: now.Add(time.Hour)}, "")
	check.Must(t, err)
	check.Equal(t, len(page.Entries), 1)
	check.Equal(t, page.Entries[0].ID, "op#1")
}

func TestTableWithoutTheIndexIsRefused(t *testing.T) {
	client, table := newTable(t, nil)
	err := CreateTable(t.Context(), client, table, &Options{Resume: true})
	check.Says(t, err, `without the index "lapsed", whose key is the number "in_progress_expiration"`)
	s := inOwnTable(t, &Options{Resume: true})
	check.Must(t, CreateTable(t.Context(), client, s.table, &Options{Resume: true}))
	err = CreateTable(t.Context(), client, s.table, &Options{Resume: true, Layout: Layout{Lease: "until"}})
	check.Says(t, err, "without the index")
	check.Must(t, CreateTable(t.Context(), client, s.table, nil))
}
