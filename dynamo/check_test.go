package dynamo

import (
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/dynamo/internal/recorditem"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func TestRefusedBeforeSending(t *testing.T) {
	sortKey := &Options{Attributes: Attributes{SortKey: "sk"}}
	done := driver.Change{Status: driver.Completed}
	record := func(edit func(*driver.Record)) func(*Store) error {
		r := claim("secret")
		edit(&r)
		return creating(t, r, now)
	}
	steps := map[string][]byte{"a": nil}
	for name, c := range map[string]struct {
		options *Options
		call    func(*Store) error
	}{
		"empty id":              {nil, record(func(r *driver.Record) { r.ID = "" })},
		"id not UTF-8":          {nil, record(func(r *driver.Record) { r.ID = "secret\xff" })},
		"long id":               {nil, record(func(r *driver.Record) { r.ID = strings.Repeat("s", 2049) })},
		"long id, sort key":     {sortKey, record(func(r *driver.Record) { r.ID = strings.Repeat("s", 1025) })},
		"get":                   {nil, func(s *Store) error { _, err := s.Get(t.Context(), ""); return err }},
		"change":                {nil, changing(t, driver.Fence{Owner: "o"}, done)},
		"no status":             {nil, record(func(r *driver.Record) { r.Status = "" })},
		"unknown status":        {nil, record(func(r *driver.Record) { r.Status = "EXPIRED" })},
		"negative attempt":      {nil, record(func(r *driver.Record) { r.Attempt = -1 })},
		"data and reference":    {nil, record(func(r *driver.Record) { r.Data, r.Payload = []byte{}, "once/1" })},
		"two results":           {nil, record(func(r *driver.Record) { r.Data, r.Unavailable = []byte{}, "why" })},
		"lease out of range":    {nil, record(func(r *driver.Record) { r.Lease = time.UnixMilli(-1) })},
		"expiry out of range":   {nil, record(func(r *driver.Record) { r.Expires = time.Unix(recorditem.MaxSeconds+1, 0) })},
		"owner not UTF-8":       {nil, record(func(r *driver.Record) { r.Owner = "\xff" })},
		"fingerprint not UTF-8": {nil, record(func(r *driver.Record) { r.Fingerprint = "\xff" })},
		"with, create":          {nil, func(s *Store) error { _, _, err := s.Create(t.Context(), claim("secret"), now, 1); return err }},
		"with, change":          {nil, changing(t, fence("secret"), driver.Change{Status: driver.Completed, With: 1})},
		"nothing":               {nil, changing(t, fence("secret"), driver.Change{})},
		"only expires":          {nil, changing(t, fence("secret"), driver.Change{Expires: now})},
		"lease with steps":      {nil, changing(t, fence("secret"), driver.Change{Lease: now, Steps: steps})},
		"owner with steps":      {nil, changing(t, fence("secret"), driver.Change{Owner: "o", Steps: steps})},
		"owner only":            {nil, changing(t, fence("secret"), driver.Change{Owner: "o"})},
		"status in progress":    {nil, changing(t, fence("secret"), driver.Change{Status: driver.InProgress})},
		"status with lease":     {nil, changing(t, fence("secret"), driver.Change{Status: driver.Failed, Lease: now})},
		"status with steps":     {nil, changing(t, fence("secret"), driver.Change{Status: driver.Failed, Steps: steps})},
		"data only":             {nil, changing(t, fence("secret"), driver.Change{Data: []byte{}})},
		"data with lease":       {nil, changing(t, fence("secret"), driver.Change{Lease: now, Unavailable: "why"})},
		"release and status":    {nil, changing(t, fence("secret"), driver.Change{Release: driver.ReleaseKeep, Status: driver.Failed})},
		"release and lease":     {nil, changing(t, fence("secret"), driver.Change{Release: driver.ReleaseDelete, Lease: now})},
		"unknown release":       {nil, changing(t, fence("secret"), driver.Change{Release: 4})},
		"step without name":     {nil, changing(t, fence("secret"), driver.Change{Steps: map[string][]byte{"": nil}})},
		"step not UTF-8":        {nil, changing(t, fence("secret"), driver.Change{Steps: map[string][]byte{"\xff": nil}})},
	} {
		t.Run(name, func(t *testing.T) {
			s, client := fakeStore(t, c.options)
			err := c.call(s)
			if err == nil || len(client.sent) > 0 {
				t.Fatalf("%v; sent %q", err, client.sent)
			}
			check.Lacks(t, err.Error(), "secret", "the text holds a key")
			check.Lacks(t, err.Error(), "\xff")
		})
	}
}

func TestIDsUpToTheLimitOfTheKeyAreAccepted(t *testing.T) {
	s := localStore(t)
	id := strings.Repeat("ü", 1024)
	create(t, s, claim(id))
	check.Equal(t, get(t, s, id).ID, id, "the id changed")
}

func TestNewRefuses(t *testing.T) {
	client := &fakeClient{}
	for name, o := range map[string]Options{
		"repeated name":           {Attributes: Attributes{Owner: "data"}},
		"sort key repeated":       {Attributes: Attributes{SortKey: "id"}},
		"name not UTF-8":          {Attributes: Attributes{Owner: "\xff"}},
		"long name":               {Attributes: Attributes{Owner: strings.Repeat("a", 256)}},
		"unknown format":          {Data: 2},
		"compression with native": {Data: Native, CompressAbove: 1},
		"partition, no sort key":  {Partition: "p"},
		"shards, no sort key":     {Shards: 2},
		"negative shards":         {Attributes: Attributes{SortKey: "sk"}, Shards: -1},
		"long partition":          {Attributes: Attributes{SortKey: "sk"}, Partition: strings.Repeat("a", 2040)},
	} {
		_, err := New(client, "records", &o)
		check.Failed(t, err, "no error", name)
	}
	_, err := New(nil, "records", nil)
	check.Failed(t, err, "nil client: no error")
	_, err = New(client, "", nil)
	check.Failed(t, err, "no table: no error")
	o := Options{Attributes: Attributes{SortKey: "sk"}}
	before := o
	newStore(t, client, "records", &o)
	check.Equal(t, o, before, "New changed the caller's options")
}
