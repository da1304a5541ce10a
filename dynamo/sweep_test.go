package dynamo

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

func expired(id string) driver.Record {
	return driver.Record{ID: id, Status: driver.Completed, Owner: owner, Attempt: 1, Expires: now.Add(-time.Hour)}
}

// What expires is in package storetest.
func TestSweepLeavesWhatIsNotOfTheStore(t *testing.T) {
	s := inOwnTable(t, &Options{Layout: oddNames})
	s.plant(t, expired("old"))
	foreign := s.format.Item(expired("foreign"))
	foreign[s.format.Attr.Status] = text("SHIPPED")
	putItem(t, s, foreign)
	elsewhere := s.format.Item(expired("elsewhere"))
	elsewhere[s.format.Attr.ID] = text("orders")
	putItem(t, s, elsewhere)
	deleted, next, err := s.Sweep(t.Context(), now, 100, "")
	check.Must(t, err)
	check.Equal(t, deleted, 1)
	check.Equal(t, next.Next, "")
	check.Equal(t, count(t, s), 2)
}

// The table of another program may have a status COMPLETED and an expiration, too.
func TestSweepRefusesAnItemThatIsNoRecord(t *testing.T) {
	s := inOwnTable(t, nil)
	order := s.format.Item(expired("order"))
	order["customer"] = text("Ada")
	delete(order, s.format.Attr.Owner)
	putItem(t, s, order)
	s.plant(t, expired("old"))
	deleted, next, err := s.Sweep(t.Context(), now, 100, "")
	check.Equal(t, deleted, 0)
	check.Equal(t, next.Next, "")
	check.Contains(t, check.As[*driver.ConfigError](t, err).Error(), `the attribute "customer", which no record has`)
	check.Equal(t, count(t, s), 2)
	_, err = s.Scan(t.Context(), driver.Filter{Expired: now, Brief: true}, "") // of a dry run
	check.As[*driver.ConfigError](t, err)

	order["owner"] = text("alice") // with an attempt: ours, with an attribute that was added
	putItem(t, s, order)
	deleted, _, err = s.Sweep(t.Context(), now, 100, "")
	check.Nil(t, err)
	check.Equal(t, deleted, 2)
}

func count(t *testing.T, s *Store) int {
	t.Helper()
	out, err := newClient(t).Scan(t.Context(), &dynamodb.ScanInput{TableName: &s.table})
	check.Must(t, err)
	return len(out.Items)
}

func TestSweepReturnsItsPositionWithAnError(t *testing.T) {
	s, net := networked(t, nil)
	for i := range 30 {
		s.plant(t, expired(fmt.Sprint(i)))
	}
	var deletions atomic.Int64
	deleted, position, err := s.Sweep(t.Context(), now, 10, "")
	if deleted != 10 || position.Next == "" || err != nil {
		t.Fatal(deleted, position, err)
	}
	net.on("DeleteItem", func(r *wire.Request) (*wire.Response, error) {
		if deletions.Add(1) > 5 {
			return refusing(400, "ProvisionedThroughputExceededException", "slow")(r)
		}
		return r.Send()
	})
	deleted, next, err := s.Sweep(t.Context(), now, 100, position.Next)
	if deleted != 5 || next.Next != position.Next || !errors.Is(err, driver.ErrThrottled) {
		t.Errorf("deleted %d, next %q after %q, %v", deleted, next.Next, position.Next, err)
	}
	net.on("DeleteItem", nil)
	if deleted, next, err = s.Sweep(t.Context(), now, 100, next.Next); deleted != 15 || next.Next != "" || err != nil {
		t.Errorf("deleted %d, next %q, %v", deleted, next.Next, err)
	}
}

func TestSweepLeavesARecordThatIsClaimedAgain(t *testing.T) {
	s, net := networked(t, nil)
	s.plant(t, expired("id"))
	net.on("DeleteItem", func(r *wire.Request) (*wire.Response, error) {
		if _, _, err := s.Create(t.Context(), claim("id"), now, nil); err != nil {
			return nil, err
		}
		return r.Send()
	})
	deleted, next, err := s.Sweep(t.Context(), now, 10, "")
	if deleted != 0 || next.Next != "" || err != nil || get(t, s, "id").Status != driver.InProgress {
		t.Errorf("deleted %d, next %q, %v; stored %+v", deleted, next.Next, err, get(t, s, "id"))
	}
}

func TestSweepRefusesWhatItCannotUse(t *testing.T) {
	s := inOwnTable(t, nil)
	composite := inOwnTable(t, &Options{Layout: oddNames})
	for _, position := range []string{"?", "YQ.YQ.YQ", composite.encodePosition(composite.format.Key("id"))} {
		if _, next, err := s.Sweep(t.Context(), now, 10, position); !isConfigError(err) || next.Next != position {
			t.Errorf("position %q: next %q, %v", position, next.Next, err)
		}
	}
	s.client = struct{ Client }{s.client}
	if _, _, err := s.Sweep(t.Context(), now, 10, ""); !isConfigError(err) {
		t.Errorf("a client without Scan: %v", err)
	}
}
