package dynamo

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// What is sent again for the same arguments is the same request with the same
// token; whatever differs makes another.
func TestResentTransactionIsTheSame(t *testing.T) {
	done := claim("op#1")
	done.Status, done.Data = driver.Completed, []byte("1")
	finish := func(f driver.Fence, edit func(*driver.Change)) func(*Store, *Tx) error {
		return func(s *Store, tx *Tx) error {
			c := completion(tx)
			if edit != nil {
				edit(&c)
			}
			_, _, err := s.Change(t.Context(), f, c)
			return err
		}
	}
	create := func(edit func(*driver.Record), over time.Time) func(*Store, *Tx) error {
		return func(s *Store, tx *Tx) error {
			r := done
			if edit != nil {
				edit(&r)
			}
			_, _, err := s.Create(t.Context(), r, over, (*attachment)(tx))
			return err
		}
	}
	adopt := driver.Fence{ID: "op#1", Attempt: 1, Lease: driver.LeaseEnded}
	byAdoption := func(c *driver.Change) { c.Owner = owner }
	calls := []func(*Store, *Tx) error{
		finish(fence("op#1"), nil),
		finish(fence("op#1"), func(c *driver.Change) { c.Data = []byte(`"paid twice"`) }),
		finish(fence("op#1"), func(c *driver.Change) { c.Data = nil }),
		finish(fence("op#1"), func(c *driver.Change) { c.Data = []byte{} }),
		finish(fence("op#1"), func(c *driver.Change) { c.Status = driver.Failed }),
		finish(fence("op#1"), func(c *driver.Change) { c.Expires = c.Expires.Add(time.Second) }),
		finish(fence("op#1"), func(c *driver.Change) { c.Fingerprint = "g" }),
		finish(driver.Fence{ID: "op#1", Owner: rival}, nil),
		finish(fence("op#2"), nil),
		finish(adopt, byAdoption),
		finish(driver.Fence{ID: "op#1", Attempt: 2, Lease: driver.LeaseEnded}, byAdoption),
		create(nil, now),
		create(nil, time.Time{}),
		create(nil, now.Add(time.Second)),
		create(func(r *driver.Record) { r.Owner = rival }, now),
		create(func(r *driver.Record) { r.Data = []byte("2") }, now),
		func(s *Store, tx *Tx) error { return s.Commit(t.Context(), "op#1", (*attachment)(tx)) },
		func(s *Store, tx *Tx) error { return s.Commit(t.Context(), "op#2", (*attachment)(tx)) },
	}
	s, client := fakeStore(t, &Options{Outbox: "outbox"})
	tx := new(Tx)
	tx.Put("accounts", account{ID: "a"})
	tx.Publish(driver.OutboxMessage{Aggregate: "order-1", Destination: "mail"})
	frozen(t, tx)
	for range 3 {
		for _, call := range calls {
			check.Must(t, call(s, tx))
		}
	}
	seen := map[string]bool{}
	for i, token := range client.tokens {
		first := i % len(calls)
		check.Equal(t, token, client.tokens[first])
		check.Equal(t, client.sent[i], client.sent[first])
		if i == first && seen[token] {
			t.Errorf("request %d has the token %s; the first of its call had %s\n%s", i, token, client.tokens[first], client.sent[i])
		}
		seen[token] = true
		check.True(t, len(token) >= 20, len(token))
		check.True(t, len(token) <= 36, len(token))
	}
	check.Equal(t, len(seen), len(calls))
	// The rest of a second is nothing that a record holds.
	check.Must(t, create(func(r *driver.Record) { r.Expires = r.Expires.Add(time.Nanosecond) }, now.Add(time.Microsecond))(s, tx))
	check.True(t, seen[client.tokens[len(client.tokens)-1]], "the same numbers made another request")
}

// Resending relies on this: a request with a committed token succeeds without a
// write, and another request with the token is refused.
func TestDynamoDBExecutesATokenOnce(t *testing.T) {
	s := inOwnTable(t, nil)
	c := s.counter(t)
	send := func(token string, n int) error {
		_, err := s.client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
			ClientRequestToken: &token,
			TransactItems: []types.TransactWriteItem{{Update: &types.Update{
				TableName: &s.table, Key: c.key, UpdateExpression: aws.String("ADD n :n"),
				ExpressionAttributeValues: map[string]types.AttributeValue{":n": number(int64(n))},
			}}},
		})
		return err
	}
	err := errors.Join(send("a", 1), send("a", 1), send("b", 1))
	check.Nil(t, err)
	check.Equal(t, c.value(), 2)
	err = send("a", 2)
	check.As[*types.IdempotentParameterMismatchException](t, err)
	check.Equal(t, c.value(), 2)
}

// A transaction whose answer is lost is made once, by whoever sends it again.
// Nothing but its token tells one without a record, and an item of many
// attributes comes in another order each time.
func TestTransactionIsExecutedOnceAfterALostResponse(t *testing.T) {
	for name, retryer := range map[string]aws.Retryer{
		"sent again by the SDK": retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts, o.MaxBackoff = 4, time.Millisecond
		}),
		"sent again by the caller": aws.NopRetryer{},
	} {
		for kind, call := range map[string]func(*Store, string, *Tx) (bool, error){
			"fenced": func(s *Store, id string, tx *Tx) (bool, error) {
				_, ok, err := s.Change(t.Context(), fence(id), completion(tx))
				return ok, err
			},
			"optimistic": func(s *Store, id string, tx *Tx) (bool, error) {
				r := claim(id)
				r.Status = driver.Completed
				_, ok, err := s.Create(t.Context(), r, now, (*attachment)(tx))
				return ok, err
			},
			"alone": func(s *Store, id string, tx *Tx) (bool, error) {
				err := s.Commit(t.Context(), id, (*attachment)(tx))
				return err == nil, err
			},
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				s, net := networked(t, nil, func(o *dynamodb.Options) { o.Retryer = retryer })
				net.on(opTransact, firstTimes(3, unanswered))
				id := t.Name()
				if kind == "fenced" {
					create(t, s, claim(id))
				}
				c := s.counter(t)
				tx := new(Tx)
				tx.Update(s.table, c.key, expression.Add(expression.Name("n"), expression.Value(1)))
				tx.Put(s.table, map[string]any{"id": "item " + id, "a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": map[string]int{"a": 1, "b": 2, "c": 3}})
				frozen(t, tx)
				ok, err := call(s, id, tx)
				for i := 0; i < 5 && err != nil; i++ {
					if ok || !errors.Is(err, driver.ErrUnavailable) {
						t.Fatal(ok, err)
					}
					ok, err = call(s, id, tx)
				}
				check.True(t, ok)
				check.Nil(t, err)
				check.Equal(t, strings.Count(net.sent(), opTransact), 4)
				check.Equal(t, c.value(), 1)
			})
		}
	}
}

// A refusal of the second says nothing of the first, which may still arrive:
// so the SDK must not send it by itself.
func TestRefusalLeavesADelayedCopyOpen(t *testing.T) {
	sent := 0
	s := newStore(t, wireClient(func(r *wire.Request) (*wire.Response, error) {
		if sent++; sent == 1 {
			return nil, io.ErrUnexpectedEOF
		}
		return cancelling(reason("None"), reason(CodeConditionFailed))(r)
	}, func(o *dynamodb.Options) { o.Retryer = atOnce() }), "records", nil)
	x := executor(t, s, &idempotent.Config{Optimistic: true})
	ctx, event := adapter.WithEvent(t.Context())
	_, err := idempotent.Do(ctx, x, idempotent.Key{ID: "k"}, func(ctx context.Context) (string, error) {
		Collect(ctx).Put("accounts", account{ID: "a"}, If(expression.Name("id").AttributeNotExists()))
		return "done", nil
	})
	check.Is(t, err, idempotent.ErrOutcomeUnknown)
	check.Equal(t, event.RoundTrips, 2)
	check.Equal(t, sent, 2)
}

// DynamoDB forgets a token after 10 minutes, and would then commit a
// transaction twice that no record fences.
func TestTransactionWithoutRecordIsNotSentAgainLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		oops := refusing(500, "InternalServerError", "oops")
		client := wireClient(func(r *wire.Request) (*wire.Response, error) { sent++; return oops(r) })
		s := newStore(t, client, "records", nil)
		alone, fenced := twoAccounts(t), twoAccounts(t)
		send := func() {
			check.Failed(t, s.Commit(t.Context(), "op#1", (*attachment)(alone)), "no error")
			_, _, err := s.Change(t.Context(), fence("op#1"), completion(fenced))
			check.Failed(t, err, "no error")
		}
		send()
		time.Sleep(8 * time.Minute)
		send()
		check.Equal(t, sent, 4, "requests within the token's time")
		time.Sleep(2 * time.Minute)
		send()
		check.Equal(t, sent, 5, "requests, not that of the record alone")
		err := s.Commit(t.Context(), "op#1", (*attachment)(alone))
		var rejected *driver.Rejected
		check.False(t, errors.As(err, &rejected), "it is known, or worth another try")
		check.False(t, errors.Is(err, driver.ErrUnavailable))
		check.False(t, errors.Is(err, driver.ErrNotWritten))
	})
}
