package faults

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

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
			tx := new(dynamo.Tx)
			tx.Update(l.table, map[string]string{"id": tr.to}, expression.Add(expression.Name("balance"), expression.Value(1)))
			if _, err := tx.Freeze(); err != nil {
				t.Fatal(err)
			}
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
