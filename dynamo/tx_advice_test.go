package dynamo

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/outbound"
	"github.com/lambda-once/once/internal/check"
)

// DynamoDB does not say which table is missing, so the error lists all of
// them. A retry would meet the same: the text does not ask for one.
func TestTransactionOnAMissingTableListsItsTables(t *testing.T) {
	s := localStore(t)
	x, err := idempotent.New("op", s, nil)
	check.Must(t, err)
	_, err = idempotent.Do(t.Context(), x, idempotent.Key{Record: "op#1"}, func(ctx context.Context) (string, error) {
		tx := Collect(ctx)
		tx.Put("no-such-accounts", account{ID: "a"})
		tx.Check("audits", accountKey("b"), If(expression.Name("id").AttributeNotExists()))
		tx.Put("no-such-accounts", account{ID: "c"})
		return "done", nil
	})
	var failed *Error
	tables := []string{"audits", "no-such-accounts", s.table}
	slices.Sort(tables)
	if !errors.As(err, &failed) || !slices.Equal(failed.Tables, tables) {
		t.Fatalf("%v", err)
	}
	for _, want := range append(tables, "does not exist", "create it", "nothing was committed") {
		check.Says(t, err, want)
	}
	check.Lacks(t, err.Error(), "retry", "asks for a retry")
	check.Differ(t, get(t, s, "op#1").Status, driver.Completed, "the record is completed")
}

// A transaction that DynamoDB is too busy for asks for a retry, as before.
func TestBusyTransactionAsksForARetry(t *testing.T) {
	busy := newStore(t, wireClient(refusing(400, "ThrottlingException", "slow")), "records", &Options{Outbox: "outbox"})
	tx := new(Tx)
	tx.Put("accounts", account{ID: "a"})
	tx.Publish(outbound.Message{Aggregate: "a", Destination: "d"})
	_, _, err := busy.Change(t.Context(), fence("op#1"), completion(frozen(t, tx)))
	rolledBack := &idempotent.StoreError{Op: "commit", RolledBack: true, Err: err}
	check.Says(t, rolledBack, `tables ["accounts" "outbox" "records"]`)
	check.Says(t, rolledBack, "; retry")
}
