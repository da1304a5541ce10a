package faults

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// A transfer between two accounts and its record are visible together or not at
// all, whichever request meets the faults.
func TestCutTransactions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		requests   int
		optimistic bool
		lapsed     bool
	}{
		{name: "claimed", requests: 2},
		{name: "optimistic", requests: 1, optimistic: true},
		{name: "takeover", requests: 3, lapsed: true},
		// The create that meets the lapsed record, a create that claims, the takeover, the commit.
		{name: "optimistic takeover", requests: 4, optimistic: true, lapsed: true},
	} {
		optimistic := func(config *idempotent.Config) { config.Optimistic = c.optimistic }
		cuts(t, c.name, c.requests, optimistic, func(t *testing.T, l *line, n int, plan []fault) bool {
			return l.cutTransfer(t, c.lapsed, n, plan)
		})
	}
}

// transfer is a transfer between two accounts in the table of the records.
type transfer struct {
	*line
	t        *testing.T
	from, to string
}

// cutTransfer reports whether there was a request n.
func (l *line) cutTransfer(t *testing.T, lapsed bool, n int, plan []fault) bool {
	t.Helper()
	what := fmt.Sprintf("%v from request %d on", plan, n)
	key := idempotent.Key{Record: "cut#" + rand.Text()}
	tr := transfer{l, t, "from-" + rand.Text(), "to-" + rand.Text()}
	if lapsed {
		l.plantLapsed(t, key.Record)
	}
	l.faults(append(slices.Repeat([]fault{pass}, n), plan...)...)
	ticker := time.NewTicker(30 * time.Millisecond)
	defer ticker.Stop()
	got := ""
	for deadline := time.Now().Add(patience); ; <-ticker.C {
		var err error
		got, err = tr.do(l.through, key)
		tr.agrees(what, key)
		if err == nil {
			break
		}
		if errors.Is(err, idempotent.ErrInProgress) {
			l.lapse(t, key.Record) // of a claim that could not be released
		}
		known := errors.Is(err, idempotent.ErrStore) || errors.Is(err, idempotent.ErrInProgress) || errors.Is(err, idempotent.ErrOutcomeUnknown)
		if !known || time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
	}
	reached := l.requests() > n
	l.faults()
	if again, err := tr.do(l.beside, key); err != nil || again != got {
		t.Errorf("%s: replayed %q, %v; want %q", what, again, err, got)
	}
	check.Equal(t, tr.balance(tr.to), 1, what, "times transferred")
	return reached
}

func (tr transfer) do(x *idempotent.Executor, key idempotent.Key) (string, error) {
	return idempotent.Do(tr.t.Context(), x, key, func(ctx context.Context) (string, error) {
		tx := dynamo.Collect(ctx)
		tx.Update(tr.table, map[string]string{"id": tr.from}, expression.Add(expression.Name("balance"), expression.Value(-1)))
		tx.Update(tr.table, map[string]string{"id": tr.to}, expression.Add(expression.Name("balance"), expression.Value(1)))
		return "transferred by " + rand.Text(), nil
	})
}

// agrees requires that the accounts agree with the record.
func (tr transfer) agrees(what string, key idempotent.Key) {
	tr.t.Helper()
	// No request is pending: the response of a lost one was cut after it arrived.
	r, err := tr.direct.Get(tr.t.Context(), key.Record)
	if err != nil {
		tr.t.Fatal(err)
	}
	from, to := tr.balance(tr.from), tr.balance(tr.to)
	if from != -to || to > 1 || to == 0 && r.Status == driver.Completed || to == 1 && r.Status != driver.Completed {
		tr.t.Errorf("%s: balances %d and %d, and the record is %q", what, from, to, r.Status)
	}
}

func (tr transfer) balance(id string) int {
	tr.t.Helper()
	out, err := tr.client.GetItem(tr.t.Context(), &dynamodb.GetItemInput{
		ConsistentRead: aws.Bool(true), Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}}, TableName: &tr.table,
	})
	if err != nil {
		tr.t.Fatal(err)
	}
	n := 0
	if v, ok := out.Item["balance"].(*types.AttributeValueMemberN); ok {
		if _, err := fmt.Sscan(v.Value, &n); err != nil {
			tr.t.Fatal(err)
		}
	}
	return n
}

// A transaction that arrives after its owner has lost the record writes nothing,
// however the record was lost.
func TestLateTransaction(t *testing.T) {
	t.Parallel()
	l := newLine(t, aws.NopRetryer{}, func(*idempotent.Config) {})
	options := l.client.Options()
	options.BaseEndpoint, options.Retryer = &l.url, aws.NopRetryer{}
	slow, err := dynamo.New(dynamodb.New(options), l.table, nil)
	check.Must(t, err)
	now := time.Now()
	taken := driver.Change{Owner: "successor", Lease: now.Add(time.Hour), Expires: now.Add(2 * time.Hour)}
	for name, lose := range map[string]driver.Change{
		"taken over": taken,
		"kept":       {Release: driver.ReleaseKeep},
		"refunded":   {Release: driver.ReleaseRefund},
		"deleted":    {Release: driver.ReleaseDelete},
		"completed":  {Status: driver.Completed, Data: []byte("1")},
	} {
		t.Run(name, func(t *testing.T) {
			id := "late#" + rand.Text()
			tr := transfer{l, t, "from-" + rand.Text(), "to-" + rand.Text()}
			fence := driver.Fence{ID: id, Owner: "zombie", Attempt: 1, Lease: now.Add(time.Minute)}
			claim := driver.Record{ID: id, Status: driver.InProgress, Owner: fence.Owner, Attempt: 1, Lease: fence.Lease, Expires: now.Add(time.Hour)}
			if _, ok, err := l.direct.Create(t.Context(), claim, time.Time{}, nil); !ok || err != nil {
				t.Fatal(ok, err)
			}
			tx := abandoned(t, l.direct, func(tx *dynamo.Tx) {
				tx.Update(l.table, map[string]string{"id": tr.to}, expression.Add(expression.Name("balance"), expression.Value(1)))
			})
			type result struct {
				met driver.Record
				ok  bool
				err error
			}
			late := l.delayNext()
			done := make(chan result, 1)
			go func() {
				met, ok, err := slow.Change(t.Context(), fence, driver.Change{Status: driver.Completed, Data: []byte("2"), With: tx})
				done <- result{met, ok, err}
			}()
			late.await(t)
			if _, ok, err := l.direct.Change(t.Context(), fence, lose); !ok || err != nil {
				t.Fatal(ok, err)
			}
			before, err := l.direct.Get(t.Context(), id)
			check.Must(t, err)
			late.refused(t)
			got := <-done
			if got.ok || got.err != nil || got.met.Owner != before.Owner || got.met.Status != before.Status {
				t.Errorf("%+v, want a lost race against %+v", got, before)
			}
			check.Equal(t, tr.balance(tr.to), 0, "the balance")
		})
	}
}

// abandoned returns the transaction of a call whose handler has failed: it is frozen, and
// was not sent.
func abandoned(t *testing.T, store driver.Store, add func(*dynamo.Tx)) (tx driver.Attachment) {
	t.Helper()
	x, err := idempotent.New("abandoned", store, nil)
	check.Must(t, err)
	fails := errors.New("the handler fails")
	_, err = idempotent.Do(t.Context(), x, idempotent.Key{ID: rand.Text()}, func(ctx context.Context) (string, error) {
		add(dynamo.Collect(ctx))
		tx = driver.CallOf(ctx).Attached()[0]
		return "", fails
	})
	check.Is(t, err, fails)
	return tx
}
