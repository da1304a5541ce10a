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
	"github.com/lambda-once/once/internal/check"
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
		check.True(t, m.ok)
		check.Nil(t, m.err)
		check.Equal(t, m.record.ID, id(i))
	}
	check.Equal(t, wire.sent(), opBatch)
	for i, m := range s.createTogether(t, 10, rival) {
		check.False(t, m.ok)
		check.Nil(t, m.err)
		check.Equal(t, m.record.ID, id(i))
		check.Equal(t, m.record.Owner, owner)
		check.Equal(t, m.record.Attempt, 1)
	}
	check.Equal(t, wire.sent(), opBatch+" "+opRead)
	for i, m := range s.createTogether(t, 11, rival) {
		check.Equal(t, m.ok, i == 10)
		check.Nil(t, m.err)
	}
	check.Equal(t, wire.sent(), opBatch+" "+opRead)
	create(t, s, claim("alone"))
	check.Equal(t, wire.sent(), "PutItem")
}

// A single refusal costs no more requests alone, and brings the record that
// refuses it.
func TestSingleRefusalGoesAlone(t *testing.T) {
	s, wire := intercepted(t)
	create(t, s, claim(id(1)))
	wire.sent()
	for i, m := range s.createTogether(t, 3, rival) {
		check.Equal(t, m.ok, i != 1)
		check.Nil(t, m.err)
		check.Equal(t, m.record.ID, id(i))
	}
	check.Equal(t, wire.sent(), opBatch+" PutItem")
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
				check.False(t, m.ok, i)
				check.Nil(t, m.err, i)
				check.Equal(t, m.record.Owner, rival, i)
				check.Equal(t, m.record.Attempt, 2, i)
				now := get(t, s, id(i))
				check.Equal(t, now.Owner, rival)
				check.Time(t, now.Lease, stored[i].Lease)
				check.Equal(t, now.Status, driver.InProgress)
				check.True(t, len(now.Steps) <= 0, len(now.Steps))
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
				check.Equal(t, m.ok, i == 1)
				check.Nil(t, m.err)
				check.Equal(t, m.record.Owner, want)
				check.Equal(t, get(t, s, id(i)).Owner, want)
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
				check.False(t, m.ok)
				check.Nil(t, m.err)
				check.Equal(t, m.record.ID, id(i))
				check.Equal(t, m.record.Owner, owner)
			}
			sent, want := wire.sent(), opBatch+" "+opRead+strings.Repeat(" PutItem", c.alone)
			check.Equal(t, sent, want)
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
		r := get(t, s, id(i))
		check.False(t, m.ok, i)
		check.Nil(t, m.err, i)
		check.Equal(t, m.record.Status, driver.Completed, i)
		check.Equal(t, r.Status, driver.Completed, i)
		check.Equal(t, r.Owner, owner, i)
	}
}
