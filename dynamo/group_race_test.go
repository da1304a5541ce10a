package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// met is what a write of those that share a request returned.
type met struct {
	record driver.Record
	ok     bool
	err    error
}

func id(i int) string { return fmt.Sprintf("op#%d", i) }

func (s *Store) createTogether(t *testing.T, n int, owner string) []met {
	t.Helper()
	all := make([]met, n)
	together(t, n, func(ctx context.Context, i int) {
		r := claim(id(i))
		r.Owner = owner
		all[i].record, all[i].ok, all[i].err = s.Create(ctx, r, now, nil)
	})
	return all
}

func (s *Store) changeTogether(t *testing.T, n int, c driver.Change) []met {
	t.Helper()
	all := make([]met, n)
	together(t, n, func(ctx context.Context, i int) {
		all[i].record, all[i].ok, all[i].err = s.Change(ctx, fence(id(i)), c)
	})
	return all
}

func TestNewWritesShareOneRequestAndDuplicatesTwo(t *testing.T) {
	s, wire := intercepted(t)
	for i, m := range s.createTogether(t, 10, owner) {
		if !m.ok || m.err != nil || m.record.ID != id(i) {
			t.Errorf("%d: %+v", i, m)
		}
	}
	if sent := wire.sent(); sent != opBatch {
		t.Errorf("new: %s", sent)
	}
	for i, m := range s.createTogether(t, 10, rival) {
		if m.ok || m.err != nil || m.record.ID != id(i) || m.record.Owner != owner || m.record.Attempt != 1 {
			t.Errorf("duplicate %d: %+v", i, m)
		}
	}
	if sent := wire.sent(); sent != opBatch+" "+opRead {
		t.Errorf("duplicates: %s", sent)
	}
	for i, m := range s.createTogether(t, 11, rival) {
		if m.ok != (i == 10) || m.err != nil {
			t.Errorf("mixed %d: %+v", i, m)
		}
	}
	if sent := wire.sent(); sent != opBatch+" "+opRead {
		t.Errorf("mixed: %s", sent)
	}
	create(t, s, claim("alone"))
	if sent := wire.sent(); sent != "PutItem" {
		t.Errorf("alone: %s", sent)
	}
}

// A single refusal costs no more requests alone, and brings the record that
// refuses it.
func TestSingleRefusalGoesAlone(t *testing.T) {
	s, wire := intercepted(t)
	create(t, s, claim(id(1)))
	wire.sent()
	for i, m := range s.createTogether(t, 3, rival) {
		if m.ok != (i != 1) || m.err != nil || m.record.ID != id(i) {
			t.Errorf("%d: %+v", i, m)
		}
	}
	if sent := wire.sent(); sent != opBatch+" PutItem" {
		t.Errorf("sent %s", sent)
	}
}

// The requests of a frozen process arrive when its records have other owners.
func TestThawedSharedRequestChangesNoSuccessor(t *testing.T) {
	for name, c := range map[string]driver.Change{
		"complete": {Status: driver.Completed, Data: []byte("1"), Expires: now.Add(time.Hour)},
		"step":     {Steps: map[string][]byte{"a": []byte("1")}},
		"extend":   {Lease: now.Add(time.Hour), Expires: now.Add(2 * time.Hour)},
		"keep":     {Release: driver.ReleaseKeep},
		"delete":   {Release: driver.ReleaseDelete},
	} {
		t.Run(name, func(t *testing.T) {
			s, wire := intercepted(t)
			s.createTogether(t, 3, owner)
			successor := loneStore(t, newClient(t), s.table, nil)
			var stored [3]driver.Record
			wire.on(opBatch, func(body []byte, pass func([]byte) []byte) ([]byte, error) {
				for i := range stored {
					_, stored[i] = change(t, successor, fence(id(i)), driver.Change{Owner: rival, Lease: now.Add(30 * time.Minute), Expires: now.Add(time.Hour)}, true)
				}
				return pass(body), nil
			})
			for i, m := range s.changeTogether(t, 3, c) {
				if m.ok || m.err != nil || m.record.Owner != rival || m.record.Attempt != 2 {
					t.Errorf("%d: %+v", i, m)
				}
				if now := get(t, s, id(i)); now.Owner != rival || !now.Lease.Equal(stored[i].Lease) || now.Status != driver.InProgress || len(now.Steps) > 0 {
					t.Errorf("%d is %+v, was %+v", i, now, stored[i])
				}
			}
		})
	}
}

// Between the refusal and the read, the record may go, expire, or change into
// none.
func TestRecordThatIsGoneWhenItIsReadIsCreated(t *testing.T) {
	old := claim(id(1))
	old.Lease, old.Expires = now.Add(-2*time.Hour), now.Add(-time.Hour)
	for name, meanwhile := range map[string]func(t *testing.T, s *Store){
		"gone":    func(t *testing.T, s *Store) { s.plant(t, driver.Record{ID: id(1)}) },
		"expired": func(t *testing.T, s *Store) { s.plant(t, old) },
		"expired, and not a record": func(t *testing.T, s *Store) {
			item := s.format.Item(old)
			item["attempt"] = text("one")
			putItem(t, s, item)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, wire := intercepted(t)
			s.createTogether(t, 3, owner)
			other := loneStore(t, newClient(t), s.table, nil)
			wire.on(opRead, func(body []byte, pass func([]byte) []byte) ([]byte, error) {
				meanwhile(t, other)
				return pass(body), nil
			})
			for i, m := range s.createTogether(t, 3, rival) {
				want := owner
				if i == 1 {
					want = rival
				}
				if m.ok != (i == 1) || m.err != nil || m.record.Owner != want || get(t, s, id(i)).Owner != want {
					t.Errorf("%d: %+v", i, m)
				}
			}
		})
	}
}

// What a read does not bring is no record that is absent.
func TestRefusedWritesWithoutTheirRecordsGoAlone(t *testing.T) {
	unprocessed := func(n int) mischief {
		return func(body []byte, pass func([]byte) []byte) ([]byte, error) {
			var in struct {
				RequestItems map[string]struct {
					ConsistentRead bool
					Keys           []json.RawMessage
				}
			}
			if err := json.Unmarshal(body, &in); err != nil {
				return nil, err
			}
			rest := map[string]any{}
			for table, keys := range in.RequestItems {
				if !keys.ConsistentRead {
					return nil, errors.New("the read is not consistent")
				}
				rest[table] = map[string]any{"Keys": keys.Keys[n:]}
				keys.Keys = keys.Keys[:n]
				in.RequestItems[table] = keys
			}
			out := map[string]json.RawMessage{}
			if n > 0 {
				if err := json.Unmarshal(pass(encode(in)), &out); err != nil {
					return nil, err
				}
			}
			out["UnprocessedKeys"] = encode(rest)
			return encode(out), nil
		}
	}
	for name, c := range map[string]struct {
		read  mischief
		alone int
	}{
		"half unprocessed": {unprocessed(2), 2},
		"all unprocessed":  {unprocessed(0), 4},
		"throttled": {func([]byte, func([]byte) []byte) ([]byte, error) {
			return []byte(`{"__type":"ThrottlingException"}`), nil
		}, 4},
		"not answered": {func([]byte, func([]byte) []byte) ([]byte, error) { return nil, errCut }, 4},
	} {
		t.Run(name, func(t *testing.T) {
			s, wire := intercepted(t)
			s.createTogether(t, 4, owner)
			wire.on(opRead, c.read)
			wire.sent()
			for i, m := range s.createTogether(t, 4, rival) {
				if m.ok || m.err != nil || m.record.ID != id(i) || m.record.Owner != owner {
					t.Errorf("%d: %+v", i, m)
				}
			}
			if sent, want := wire.sent(), opBatch+" "+opRead+strings.Repeat(" PutItem", c.alone); sent != want {
				t.Errorf("sent %s, want %s", sent, want)
			}
		})
	}
}

func TestLateStatementChangesNoFinishedRecord(t *testing.T) {
	s, wire := intercepted(t)
	s.createTogether(t, 3, owner)
	first := loneStore(t, newClient(t), s.table, nil)
	finish := driver.Change{Status: driver.Completed, Data: []byte(`"first"`), Expires: now.Add(time.Hour)}
	wire.on(opBatch, func(body []byte, pass func([]byte) []byte) ([]byte, error) {
		for i := range 3 {
			change(t, first, fence(id(i)), finish, true)
		}
		return pass(body), nil
	})
	for i, m := range s.changeTogether(t, 3, driver.Change{Release: driver.ReleaseKeep}) {
		if r := get(t, s, id(i)); m.ok || m.err != nil || m.record.Status != driver.Completed || r.Status != driver.Completed || r.Owner != owner {
			t.Errorf("%d: %+v, %+v", i, m, r)
		}
	}
}
