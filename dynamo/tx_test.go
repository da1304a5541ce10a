package dynamo

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// A first call costs a claim and a transaction, or the transaction alone.
func TestTransactionRoundTrips(t *testing.T) {
	s, net := networked(t, nil)
	for name, c := range map[string]struct {
		config    idempotent.Config
		first     string
		duplicate string
	}{
		"claimed":    {idempotent.Config{}, "PutItem TransactWriteItems", "PutItem"},
		"optimistic": {idempotent.Config{Optimistic: true}, "TransactWriteItems", "TransactWriteItems"},
		"bypassed":   {idempotent.Config{OnMissingKey: idempotent.RunMissingKey}, "TransactWriteItems", "TransactWriteItems"},
	} {
		t.Run(name, func(t *testing.T) {
			x := executor(t, s, &c.config)
			counted := s.counter(t)
			key := idempotent.Key{ID: t.Name()}
			if name == "bypassed" {
				key = idempotent.Key{}
			}
			for i, want := range []string{c.first, c.duplicate, c.duplicate} {
				net.sent()
				got, err := idempotent.Do(t.Context(), x, key, func(ctx context.Context) (string, error) {
					Collect(ctx).Update(s.table, counted.key, expression.Add(expression.Name("n"), expression.Value(1)))
					return "done", nil
				})
				if err != nil || got != "done" {
					t.Fatalf("%q, %v", got, err)
				}
				check.Equal(t, net.sent(), want, i)
			}
			times := 1
			if name == "bypassed" {
				times = 3
			}
			check.Equal(t, counted.value(), times)
		})
	}
}

// The handler has succeeded, but its transaction was refused.
func TestCallFailsAsItsTransactionDoes(t *testing.T) {
	s := inOwnTable(t, nil)
	x := executor(t, s, nil)
	errFunds := errors.New("insufficient funds")
	rich, runs := false, 0
	transfer := func() (string, error) {
		return idempotent.Do(t.Context(), x, idempotent.Key{ID: "k"}, func(ctx context.Context) (string, error) {
			runs++
			balance := expression.Name("balance")
			if rich {
				balance = expression.Name("limit")
			}
			Collect(ctx).Put(s.table, map[string]any{"id": "account", "balance": 0}, If(balance.AttributeNotExists()))
			Collect(ctx).Check(s.table, map[string]any{"id": "owner"}, If(balance.GreaterThan(expression.Value(5)).Not()).
				Else(func(*TransactionError) error { return errFunds }))
			return "transferred", nil
		})
	}
	putItem(t, s, mustMarshal(t, map[string]any{"id": "owner", "balance": 6}))
	got, err := transfer()
	check.Equal(t, got, "")
	check.Equal(t, err, errFunds)
	rich = true
	for range 2 {
		got, err := transfer()
		check.Equal(t, got, "transferred")
		check.Nil(t, err)
	}
	check.Equal(t, runs, 2)
}

func TestUseAfterTheHandlerPanics(t *testing.T) {
	tx := new(Tx)
	if empty, err := (*attachment)(tx).Freeze(); !empty || err != nil {
		t.Fatal(empty, err)
	}
	for name, use := range map[string]func(){
		"Put":     func() { tx.Put("t", account{ID: "a"}) },
		"Update":  func() { tx.Update("t", accountKey("a"), expression.Add(expression.Name("n"), expression.Value(1))) },
		"Delete":  func() { tx.Delete("t", accountKey("a")) },
		"Check":   func() { tx.Check("t", accountKey("a"), If(expression.Name("n").AttributeExists())) },
		"Add":     func() { tx.Add(rawDelete(t)) },
		"Publish": func() { tx.Publish(driver.OutboxMessage{Aggregate: "a", Destination: "d"}) },
	} {
		func() {
			defer func() {
				text, _ := recover().(string)
				check.Contains(t, text, "Tx."+name)
				check.Contains(t, text, "returned")
			}()
			use()
		}()
	}
}

func TestTxIsSafeForConcurrentUse(t *testing.T) {
	s := inOwnTable(t, nil)
	create(t, s, claim("op#1"))
	tx := new(Tx)
	var wg sync.WaitGroup
	counters := make([]counter, 20)
	for i := range counters {
		counters[i] = s.counter(t)
		wg.Go(func() { tx.Update(s.table, counters[i].key, expression.Add(expression.Name("n"), expression.Value(1))) })
	}
	wg.Wait()
	frozen(t, tx)
	for range 4 {
		wg.Go(func() {
			// All send one request; those that DynamoDB is still busy with try again.
			for {
				_, _, err := s.Change(t.Context(), fence("op#1"), completion(tx))
				if err == nil {
					return
				}
				if !errors.Is(err, driver.ErrUnavailable) {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for _, c := range counters {
		check.Equal(t, c.value(), 1)
	}
}

// TestConformance has transactions in the other layouts.
func TestTransactionsStoreNativeResults(t *testing.T) {
	for kind, data := range map[string]string{
		"text": `{"a":[1,2]}`, "binary": "\xff\x00", "long": `"` + strings.Repeat("ab", 10_000) + `"`,
	} {
		t.Run(kind, func(t *testing.T) {
			s := inOwnTable(t, &Options{Data: Native})
			create(t, s, claim("op#1"))
			change(t, s, fence("op#1"), driver.Change{Steps: map[string][]byte{"a": []byte("1")}}, true)
			counted := s.counter(t)
			c := completion(adding(t, counted))
			c.Data = []byte(data)
			_, stored := change(t, s, fence("op#1"), c, true)
			check.Equal(t, string(stored.Data), data)
			check.True(t, len(stored.Steps) <= 0, len(stored.Steps))
			check.True(t, stored.Lease.IsZero())
			check.Equal(t, counted.value(), 1)
			r := claim("op#2")
			r.Status, r.Data = driver.Completed, []byte(data)
			if _, ok, err := s.Create(t.Context(), r, now, (*attachment)(adding(t, counted))); !ok || err != nil {
				t.Fatal(ok, err)
			}
			stored = get(t, s, "op#2")
			check.Equal(t, string(stored.Data), data)
			check.Equal(t, counted.value(), 2)
		})
	}
}
