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
	"github.com/lambda-once/once/internal/wire"
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
	s, net := intercepted(t)
	for i, m := range s.createTogether(t, 10, owner) {
		check.True(t, m.ok)
		check.Nil(t, m.err)
		check.Equal(t, m.record.ID, id(i))
	}
	check.Equal(t, net.sent(), opBatch)
	for i, m := range s.createTogether(t, 10, rival) {
		check.False(t, m.ok)
		check.Nil(t, m.err)
		check.Equal(t, m.record.ID, id(i))
		check.Equal(t, m.record.Owner, owner)
		check.Equal(t, m.record.Attempt, 1)
	}
	check.Equal(t, net.sent(), opBatch+" "+opRead)
	for i, m := range s.createTogether(t, 11, rival) {
		check.Equal(t, m.ok, i == 10)
		check.Nil(t, m.err)
	}
	check.Equal(t, net.sent(), opBatch+" "+opRead)
	create(t, s, claim("alone"))
	check.Equal(t, net.sent(), "PutItem")
}

// A single refusal costs no more requests alone, and brings the record that
// refuses it.
func TestSingleRefusalGoesAlone(t *testing.T) {
	s, net := intercepted(t)
	create(t, s, claim(id(1)))
	net.sent()
	for i, m := range s.createTogether(t, 3, rival) {
		check.Equal(t, m.ok, i != 1)
		check.Nil(t, m.err)
		check.Equal(t, m.record.ID, id(i))
	}
	check.Equal(t, net.sent(), opBatch+" PutItem")
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
			s, net := intercepted(t)
			s.createTogether(t, 3, owner)
			other := newStore(t, newClient(t), s.table, nil)
			net.on(opRead, func(r *wire.Request) (*wire.Response, error) {
				meanwhile(t, other)
				return r.Send()
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

// unprocessed reads only the first n keys.
func unprocessed(n int) wire.Carry {
	return func(r *wire.Request) (*wire.Response, error) {
		var in struct {
			RequestItems map[string]struct {
				ConsistentRead bool
				Keys           []json.RawMessage
			}
		}
		if err := json.Unmarshal(r.Body, &in); err != nil {
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
		if n == 0 {
			return answering(200, string(encode(map[string]any{"UnprocessedKeys": rest})))(r)
		}
		r.Body = encode(in)
		return sendAnd(func(_ *wire.Request, out *map[string]json.RawMessage) error {
			(*out)["UnprocessedKeys"] = encode(rest)
			return nil
		})(r)
	}
}

// An item that a read lacks may still exist.
func TestRefusedWritesWithoutTheirRecordsGoAlone(t *testing.T) {
	for name, c := range map[string]struct {
		read  wire.Carry
		alone int
	}{
		"half unprocessed": {unprocessed(2), 2},
		"all unprocessed":  {unprocessed(0), 4},
		"throttled":        {refusing(400, "ThrottlingException", ""), 4},
		"not answered":     {failing(wire.ErrCut), 4},
	} {
		t.Run(name, func(t *testing.T) {
			s, net := intercepted(t)
			s.createTogether(t, 4, owner)
			net.on(opRead, c.read)
			net.sent()
			for i, m := range s.createTogether(t, 4, rival) {
				check.False(t, m.ok)
				check.Nil(t, m.err)
				check.Equal(t, m.record.ID, id(i))
				check.Equal(t, m.record.Owner, owner)
			}
			sent, want := net.sent(), opBatch+" "+opRead+strings.Repeat(" PutItem", c.alone)
			check.Equal(t, sent, want)
		})
	}
}

func (s *Store) getTogether(t *testing.T, n int) []met {
	t.Helper()
	all := make([]met, n)
	together(t, n, func(ctx context.Context, i int) {
		all[i].record, all[i].err = s.Get(ctx, id(i))
	})
	return all
}

func TestReadsShareOneRequest(t *testing.T) {
	s, net := intercepted(t)
	s.createTogether(t, 9, owner)
	net.sent()
	for i, m := range s.getTogether(t, 10) {
		want := id(i)
		if i == 9 {
			want = "" // there is none
		}
		check.Equal(t, m.record.ID, want, i)
		check.Nil(t, m.err, i)
	}
	check.Equal(t, net.sent(), "BatchGetItem")
}

// A key that DynamoDB leaves unprocessed says nothing about its record.
func TestKeysThatAreLeftUnprocessedAreReadAlone(t *testing.T) {
	for name, read := range map[string]wire.Carry{"unprocessed": unprocessed(0), "not answered": failing(wire.ErrCut)} {
		s, net := intercepted(t)
		s.createTogether(t, 3, owner)
		net.sent()
		net.on(opRead, read)
		for i, m := range s.getTogether(t, 3) {
			check.Equal(t, m.record.ID, id(i), name)
			check.Equal(t, m.record.Status, driver.InProgress, name)
			check.Nil(t, m.err, name)
		}
		check.Equal(t, net.sent(), "BatchGetItem GetItem GetItem GetItem", name)
	}
}
