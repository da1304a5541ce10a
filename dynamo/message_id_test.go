package dynamo

import (
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// An attempt may send several requests, of which one is committed: with a smaller
// result, for a record that its successor has released, or after a claim whose answer
// was lost. Readers of its messages must not see which.
func TestMessagesOfAnAttemptHaveTheSameIDs(t *testing.T) {
	ids := func(send func(*Store) error) []string {
		t.Helper()
		s, client := fakeStore(t, &Options{Outbox: "outbox"})
		check.Must(t, errors.Join(send(s), send(s)))
		if len(client.sent) != 2 || client.sent[0] != client.sent[1] {
			t.Fatalf("sent %q", client.sent)
		}
		all := regexp.MustCompile(`[0-9a-f]{64}-[0-9]`).FindAllString(client.sent[0], -1)
		if len(all) != 3 || all[0] == all[1] || all[0] == all[2] {
			t.Errorf("the ids %q", all)
		}
		return all
	}
	publishing := func() *Tx {
		tx := new(Tx)
		for _, aggregate := range []string{"order-1", "order-1", "order-2"} {
			tx.Publish(driver.OutboxMessage{Aggregate: aggregate, Destination: "mail"})
		}
		return frozen(t, tx)
	}
	finish := func(tx *Tx, f driver.Fence, edit func(*driver.Change)) []string {
		t.Helper()
		c := completion(tx)
		edit(&c)
		return ids(changing(t, f, c))
	}
	tx := publishing() // of the attempt
	first := finish(tx, fence("op#1"), func(*driver.Change) {})
	check.Slice(t, finish(tx, fence("op#1"), func(c *driver.Change) { c.Data, c.Unavailable = nil, "too large" }), first, "with another result")
	adopted := driver.Fence{ID: "op#1", Attempt: 7, Lease: driver.LeaseEnded}
	check.Slice(t, finish(tx, adopted, func(c *driver.Change) { c.Owner = owner }), first, "when it adopts the record")
	r := claim("op#1")
	r.Status = driver.Completed
	created := ids(func(s *Store) error { _, _, err := s.Create(t.Context(), r, now, (*attachment)(tx)); return err })
	check.Slice(t, created, first, "when it creates the record")

	others := map[string][]string{
		"another attempt": finish(publishing(), driver.Fence{ID: "op#1", Owner: rival}, func(c *driver.Change) { c.Expires = c.Expires.Add(time.Hour) }),
		"another record":  finish(publishing(), fence("op#2"), func(*driver.Change) {}),
		// Such as a step of a durable execution, whose owner is derived.
		"the same owner": finish(publishing(), fence("op#1"), func(*driver.Change) {}),
	}
	for _, name := range []string{"without a record", "once more without a record"} {
		tx := publishing()
		others[name] = ids(func(s *Store) error { return s.Commit(t.Context(), "op#1", (*attachment)(tx)) })
	}
	seen := map[string]string{}
	for _, id := range first {
		seen[id] = "the first"
	}
	for name, all := range others {
		for _, id := range all {
			_, ok := seen[id]
			check.False(t, ok, name, id)
			seen[id] = name
		}
	}
}
