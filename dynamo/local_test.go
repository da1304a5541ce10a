package dynamo

import (
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func TestCreateReturnsTheRecordItMeets(t *testing.T) {
	s := localStore(t)
	r := claim("op#1")
	written, ok, err := s.Create(t.Context(), r, now, nil)
	if err != nil || !ok {
		t.Fatalf("ok %v, %v", ok, err)
	}
	met, ok, err := s.Create(t.Context(), driver.Record{ID: "op#1", Status: driver.InProgress, Owner: rival, Attempt: 1}, now, nil)
	if err != nil || ok {
		t.Fatalf("the duplicate: ok %v, %v", ok, err)
	}
	check.Deep(t, met, written)
	check.Deep(t, met, get(t, s, "op#1"))
	check.Equal(t, met.Owner, owner)
	check.Equal(t, met.Attempt, 1)
	check.Equal(t, met.Fingerprint, "f")
	check.Time(t, met.Lease, r.Lease)
	check.Equal(t, met.Expires.Unix(), r.Expires.Unix())
	m, ok := rawItem(t, s, "op#1")["steps"].(*types.AttributeValueMemberM)
	if !ok || len(m.Value) != 0 {
		t.Error("the claim has no empty map of steps")
	}
}

func TestCreateReplacesOnlyExpiredRecords(t *testing.T) {
	end := now.Truncate(time.Second)
	for _, c := range []struct {
		name    string
		status  driver.Status
		lease   time.Time
		expires time.Time
		over    time.Time
		want    bool
	}{
		{"retention not over", driver.Completed, time.Time{}, end, end, false},
		{"retention over by less than a second", driver.Completed, time.Time{}, end, end.Add(999 * time.Millisecond), false},
		{"retention over", driver.Completed, time.Time{}, end, end.Add(time.Second), true},
		{"failed, over", driver.Failed, time.Time{}, end, end.Add(time.Second), true},
		{"zero over", driver.Completed, time.Time{}, end, time.Time{}, false},
		{"no retention", driver.Completed, time.Time{}, time.Time{}, end.AddDate(100, 0, 0), false},
		{"lease lives on", driver.InProgress, end.Add(time.Second), end, end.Add(time.Second), false},
		{"lease over as well", driver.InProgress, end.Add(time.Second), end, end.Add(1001 * time.Millisecond), true},
		{"lease over, retention not", driver.InProgress, end.Add(-time.Second), end, end, false},
		{"no lease", driver.InProgress, time.Time{}, end, end.Add(time.Second), true},
		{"lease ended", driver.InProgress, driver.LeaseEnded, end, end.Add(time.Second), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := localStore(t)
			old := driver.Record{ID: "op#1", Status: c.status, Owner: owner, Attempt: 3, Lease: c.lease, Expires: c.expires, Fingerprint: "old"}
			if c.status != driver.InProgress {
				old.Data = []byte(`"old"`)
			}
			create(t, s, old)
			stored := get(t, s, "op#1")
			if stored.Expired(c.over) != c.want && !c.over.IsZero() {
				t.Fatalf("Record.Over and this table disagree")
			}
			next := driver.Record{ID: "op#1", Status: driver.InProgress, Owner: rival, Attempt: 1, Lease: end.Add(time.Minute)}
			got, ok, err := s.Create(t.Context(), next, c.over, nil)
			if err != nil || ok != c.want {
				t.Fatalf("ok %v, want %v; %v", ok, c.want, err)
			}
			after := get(t, s, "op#1")
			if !ok && (!reflect.DeepEqual(got, stored) || !reflect.DeepEqual(after, stored)) {
				t.Errorf("met %+v\nstored before %+v\nand after %+v", got, stored, after)
			}
			if ok && !reflect.DeepEqual(after, got) {
				t.Errorf("stored %+v, answered %+v", after, got)
			}
		})
	}
}

func TestTakeOverNeedsTheRecordAsRead(t *testing.T) {
	s := localStore(t)
	create(t, s, claim("op#1"))
	change(t, s, fence("op#1"), driver.Change{Steps: map[string][]byte{"a": []byte("1")}}, true)
	f := fence("op#1")
	c := driver.Change{Owner: rival, Lease: now.Add(time.Hour), Expires: now.Add(2 * time.Hour), Fingerprint: "g"}

	for name, wrong := range map[string]driver.Fence{
		"owner":     {ID: f.ID, Owner: "x", Attempt: 1, Lease: f.Lease},
		"no owner":  {ID: f.ID, Attempt: 1, Lease: f.Lease},
		"attempt":   {ID: f.ID, Owner: owner, Attempt: 2, Lease: f.Lease},
		"no number": {ID: f.ID, Owner: owner, Lease: f.Lease},
		"lease":     {ID: f.ID, Owner: owner, Attempt: 1, Lease: f.Lease.Add(time.Millisecond)},
		"no lease":  {ID: f.ID, Owner: owner, Attempt: 1},
	} {
		t.Run(name, func(t *testing.T) {
			met, stored := change(t, s, wrong, c, false)
			check.Deep(t, met, stored)
			check.Equal(t, stored.Owner, owner)
		})
	}
	got, stored := change(t, s, f, c, true)
	check.Deep(t, got, stored)
	check.Equal(t, got.Owner, rival)
	check.Equal(t, got.Attempt, 2)
	check.Equal(t, got.Fingerprint, "f")
	check.Equal(t, string(got.Steps["a"]), "1")
	check.Time(t, got.Lease, c.Lease)
	change(t, s, f, c, false) // once only
}

func TestTakeOverKeepsAttributesOfOtherPrograms(t *testing.T) {
	s := localStore(t)
	putItem(t, s, map[string]types.AttributeValue{
		"id": text("f#1"), "status": text("INPROGRESS"), "expiration": seconds(now.Add(time.Hour)), "in_progress_expiration": millis(now), "mine": text("stays"),
	})
	met := get(t, s, "f#1")
	f := driver.Fence{ID: met.ID, Owner: met.Owner, Attempt: met.Attempt, Lease: met.Lease}
	got, _ := change(t, s, f, driver.Change{Owner: rival, Lease: now.Add(time.Hour), Fingerprint: "g"}, true)
	check.Equal(t, got.Attempt, 2)
	check.Equal(t, got.Fingerprint, "g")
	check.Equal(t, got.Owner, rival)
	_, ok := rawItem(t, s, "f#1")["mine"]
	check.True(t, ok, "another program's attribute is gone")
}

func TestExtendOnlyMovesForward(t *testing.T) {
	s := localStore(t)
	create(t, s, claim("op#1"))
	later := now.Add(2 * time.Minute)
	got, stored := change(t, s, fence("op#1"), driver.Change{Lease: later, Expires: now.Add(3 * time.Hour)}, true)
	check.Time(t, got.Lease, later)
	check.Time(t, stored.Lease, later)
	check.Time(t, stored.Expires, got.Expires)
	_, stored = change(t, s, fence("op#1"), driver.Change{Lease: later}, false)
	_, stored = change(t, s, fence("op#1"), driver.Change{Lease: now}, false)
	check.Time(t, stored.Lease, later, "a delayed heartbeat shortened the lease")
}

func TestOnlyTheOwnerFinishes(t *testing.T) {
	for _, status := range []driver.Status{driver.Completed, driver.Failed} {
		t.Run(string(status), func(t *testing.T) {
			s := localStore(t)
			create(t, s, claim("op#1"))
			change(t, s, fence("op#1"), driver.Change{Steps: map[string][]byte{"a": nil}}, true)
			c := driver.Change{Status: status, Data: []byte(`{"n":9007199254740993}`), Expires: now.Add(24 * time.Hour)}
			change(t, s, driver.Fence{ID: "op#1", Owner: rival}, c, false)
			got, stored := change(t, s, driver.Fence{ID: "op#1", Owner: owner}, c, true)
			check.Equal(t, got.Status, status)
			check.Equal(t, string(got.Data), string(c.Data))
			check.Equal(t, string(stored.Data), string(c.Data))
			check.Equal(t, stored.Status, status)
			item := rawItem(t, s, "op#1")
			check.True(t, item["steps"] == nil)
			check.True(t, item["in_progress_expiration"] == nil)
			check.True(t, item["owner"] != nil)
			met, _ := change(t, s, driver.Fence{ID: "op#1", Owner: owner}, c, false) // not twice
			check.Deep(t, met, stored)
		})
	}
}

func TestAdoptionNeedsAReleasedRecord(t *testing.T) {
	s := localStore(t)
	create(t, s, claim("op#1"))
	c := driver.Change{Owner: rival, Status: driver.Completed, Data: []byte("1")}
	f := driver.Fence{ID: "op#1", Attempt: 1, Lease: driver.LeaseEnded}
	change(t, s, f, c, false) // owned
	change(t, s, fence("op#1"), driver.Change{Release: driver.ReleaseKeep}, true)
	f.Attempt = 2
	change(t, s, f, c, false)
	f.Attempt = 1
	got, stored := change(t, s, f, c, true)
	check.Equal(t, stored.Owner, rival)
	check.Equal(t, stored.Status, driver.Completed)
	check.Equal(t, stored.Attempt, 1)
	check.Equal(t, got.Owner, rival)
	check.Equal(t, got.Attempt, 1)
}

func TestReleaseDeletesOrKeeps(t *testing.T) {
	t.Run("delete", func(t *testing.T) {
		s := localStore(t)
		create(t, s, claim("op#1"))
		change(t, s, driver.Fence{ID: "op#1", Owner: rival}, driver.Change{Release: driver.ReleaseDelete}, false)
		got, stored := change(t, s, fence("op#1"), driver.Change{Release: driver.ReleaseDelete}, true)
		check.Equal(t, got.Status, driver.Absent)
		check.Equal(t, stored.Status, driver.Absent)
		met, _ := change(t, s, fence("op#1"), driver.Change{Release: driver.ReleaseDelete}, false)
		check.Equal(t, met.Status, driver.Absent)
	})
	t.Run("delete refused by steps", func(t *testing.T) {
		s := localStore(t)
		create(t, s, claim("op#1"))
		change(t, s, fence("op#1"), driver.Change{Steps: map[string][]byte{"a": nil}}, true)
		met, stored := change(t, s, fence("op#1"), driver.Change{Release: driver.ReleaseDelete}, false)
		check.Equal(t, met.Owner, owner)
		check.Equal(t, len(met.Steps), 1)
		check.Equal(t, stored.Status, driver.InProgress)
	})
	t.Run("delete without a map of steps", func(t *testing.T) {
		s := localStore(t)
		putItem(t, s, map[string]types.AttributeValue{"id": text("op#1"), "status": text("INPROGRESS"), "owner": text(owner)})
		change(t, s, driver.Fence{ID: "op#1", Owner: owner}, driver.Change{Release: driver.ReleaseDelete}, true)
	})
	for _, release := range []driver.Release{driver.ReleaseKeep, driver.ReleaseRefund} {
		t.Run("keep", func(t *testing.T) {
			s := localStore(t)
			create(t, s, claim("op#1"))
			got, stored := change(t, s, fence("op#1"), driver.Change{Release: release}, true)
			check.Time(t, stored.Lease, driver.LeaseEnded)
			check.Equal(t, stored.Owner, "")
			check.Equal(t, stored.Attempt, 1)
			check.Equal(t, stored.Refunds, int64(release-driver.ReleaseKeep))
			check.Equal(t, got.Owner, "")
			check.Time(t, got.Lease, driver.LeaseEnded)
			change(t, s, fence("op#1"), driver.Change{Release: release}, false)
			change(t, s, fence("op#1"), driver.Change{Lease: now.Add(time.Hour)}, false)
		})
	}
}

func TestStepsAreAddedOneByOne(t *testing.T) {
	steps := map[string][]byte{"a": []byte("1"), "b.c#d": {0xff, 0}, "e": nil, "f": {}, " ü": []byte("text")}
	s := localStore(t)
	create(t, s, claim("op#1"))
	change(t, s, driver.Fence{ID: "op#1", Owner: rival}, driver.Change{Steps: steps}, false)
	change(t, s, fence("op#1"), driver.Change{Steps: map[string][]byte{"first": []byte("0")}}, true)
	got, stored := change(t, s, fence("op#1"), driver.Change{Steps: steps}, true)
	check.Deep(t, got.Steps, steps)
	want := map[string][]byte{"first": []byte("0"), "a": []byte("1"), "b.c#d": {0xff, 0}, "e": nil, "f": {}, " ü": []byte("text")}
	check.Deep(t, stored.Steps, want)
}

func TestStepMakesAMissingMap(t *testing.T) {
	s := localStore(t)
	putItem(t, s, map[string]types.AttributeValue{"id": text("op#1"), "status": text("INPROGRESS"), "owner": text(owner)})
	one := driver.Change{Steps: map[string][]byte{"a": []byte("1")}}
	change(t, s, driver.Fence{ID: "op#1", Owner: rival}, one, false)
	_, stored := change(t, s, driver.Fence{ID: "op#1", Owner: owner}, one, true)
	check.Equal(t, string(stored.Steps["a"]), "1")
	met, _ := change(t, s, driver.Fence{ID: "absent", Owner: owner}, one, false)
	check.Equal(t, met.Status, driver.Absent)
}
