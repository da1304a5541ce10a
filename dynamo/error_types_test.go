package dynamo

import (
	"testing"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/errortypes"
)

// Step Functions match the name of a type, so that each error that leaves has
// one. Where an error is made that has none, something else wraps it.
func TestEveryErrorThatLeavesHasAnExportedType(t *testing.T) {
	walked, err := errortypes.Parse(".")
	check.Must(t, err)
	const (
		item        = "Store.read makes it an Error"
		refused     = "Store.refused makes it an Error"
		failed      = "Store.fail makes it an Error"
		transaction = "Tx.add or Tx.Publish makes it a TransactionError"
	)
	for _, fault := range walked.Unexplained(map[string]string{
		"Store.checkChange": refused, "Store.checkCreate": refused, "Tx.request": refused,
		"checkRequest": refused, "checkText": refused, "transactionOf": refused,
		"checkSchema": failed, "Store.checkLapsedIndex": failed, "Store.enableTTL": failed, "Store.change": failed,
		"checkMessage": transaction, "both": transaction, "marshal": transaction, "newParts": transaction, "newAddition": transaction, "Tx.Update": transaction,
		"refusal": "it is the Err of a TransactionError",
	}) {
		t.Error(fault)
	}
}

func isConfigError(err error) bool { _, ok := err.(*driver.ConfigError); return ok }

// All mistakes are reported at once.
func TestNewReportsAllMistakes(t *testing.T) {
	_, err := New(nil, "", &Options{Data: 9, Group: -1, Layout: Layout{Shards: -1, SortKey: "id"}})
	if _, ok := err.(*driver.ConfigError); !ok {
		t.Fatalf("%T: %v", err, err)
	}
	for _, want := range []string{"client", "table", "Data", "Group", "Shards", "twice"} {
		check.Contains(t, err.Error(), want, err)
	}
}
