package dynamo

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/dynamo/internal/recorditem"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func TestRefusedBeforeSending(t *testing.T) {
	sortKey := &Options{Layout: Layout{SortKey: "sk"}}
	record := func(edit func(*driver.Record)) func(*Store) error {
		r := claim("secret")
		edit(&r)
		return creating(t, r, now)
	}
	for name, c := range map[string]struct {
		options *Options
		call    func(*Store) error
	}{
		"empty id":              {nil, record(func(r *driver.Record) { r.ID = "" })},
		"id not UTF-8":          {nil, record(func(r *driver.Record) { r.ID = "secret\xff" })},
		"long id":               {nil, record(func(r *driver.Record) { r.ID = strings.Repeat("s", 2049) })},
		"long id, sort key":     {sortKey, record(func(r *driver.Record) { r.ID = strings.Repeat("s", 1025) })},
		"get":                   {nil, func(s *Store) error { _, err := s.Get(t.Context(), ""); return err }},
		"change":                {nil, changing(t, driver.Fence{Owner: "o"}, driver.Change{Status: driver.Completed})},
		"lease out of range":    {nil, record(func(r *driver.Record) { r.Lease = time.UnixMilli(-1) })},
		"expiry out of range":   {nil, record(func(r *driver.Record) { r.Expires = time.Unix(recorditem.MaxSeconds+1, 0) })},
		"owner not UTF-8":       {nil, record(func(r *driver.Record) { r.Owner = "\xff" })},
		"fingerprint not UTF-8": {nil, record(func(r *driver.Record) { r.Fingerprint = "\xff" })},
		"two mistakes":          {nil, record(func(r *driver.Record) { r.Owner, r.Expires = "\xff", time.Unix(-1, 0) })},
		"with, create":          {nil, func(s *Store) error { _, _, err := s.Create(t.Context(), claim("secret"), now, 1); return err }},
		"with, change":          {nil, changing(t, fence("secret"), driver.Change{Status: driver.Completed, With: 1})},
		"with an open Tx":       {nil, changing(t, fence("secret"), driver.Change{Status: driver.Completed, With: new(attachment)})},
		"with no Tx":            {nil, changing(t, fence("secret"), completion(nil))},
		"commit without id":     {nil, func(s *Store) error { return s.Commit(t.Context(), "", new(attachment)) }},
		"commit of nothing":     {nil, func(s *Store) error { return s.Commit(t.Context(), "secret", nil) }},
		"commit of something":   {nil, func(s *Store) error { return s.Commit(t.Context(), "secret", 1) }},
		"commit of an open Tx":  {nil, func(s *Store) error { return s.Commit(t.Context(), "secret", new(attachment)) }},
		"change of nothing":     {nil, changing(t, fence("secret"), driver.Change{})},
		"step too large":        {nil, changing(t, fence("secret"), driver.Change{Steps: map[string][]byte{"s": noise(500 << 10)}})},
		"step not UTF-8":        {nil, changing(t, fence("secret"), driver.Change{Steps: map[string][]byte{"\xff": nil}})},
	} {
		t.Run(name, func(t *testing.T) {
			s, client := fakeStore(t, c.options)
			err := c.call(s)
			if refused, ok := err.(*Error); !ok || refused.Table != "records" || refused.Op == "" {
				t.Fatalf("%T: %v", err, err)
			}
			check.False(t, errors.Is(err, driver.ErrUnavailable))
			check.Equal(t, len(client.sent), 0)
			check.Lacks(t, err.Error(), "secret", "the text holds a key")
			check.Lacks(t, err.Error(), "\xff")
		})
	}
}

func TestIDsUpToTheLimitOfTheKeyAreAccepted(t *testing.T) {
	s := inOwnTable(t, nil)
	id := strings.Repeat("ü", 1024)
	create(t, s, claim(id))
	check.Equal(t, get(t, s, id).ID, id, "the id changed")
}

func TestNewRefuses(t *testing.T) {
	client := &fakeClient{}
	for name, o := range map[string]Options{
		"repeated name":          {Layout: Layout{Owner: "data"}},
		"name not UTF-8":         {Layout: Layout{Owner: "\xff"}},
		"long name":              {Layout: Layout{Owner: strings.Repeat("a", 256)}},
		"very long name":         {Layout: Layout{Owner: strings.Repeat("a", 1<<20)}},
		"partition, no sort key": {Layout: Layout{Partition: "p"}},
		"shards, no sort key":    {Layout: Layout{Shards: 2}},
		"long partition":         {Layout: Layout{SortKey: "sk", Partition: strings.Repeat("a", 2040)}},
	} {
		_, err := New(client, "records", &o)
		check.True(t, isConfigError(err), name, err)
	}
	o := Options{Layout: Layout{SortKey: "sk"}}
	before := o
	newStore(t, client, "records", &o)
	check.Equal(t, o, before, "New changed the caller's options")
}
