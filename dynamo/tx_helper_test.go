package dynamo

import (
	"crypto/rand"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// counter is an item with a number, as a handler's effect.
type counter struct {
	s   *Store
	t   *testing.T
	key map[string]types.AttributeValue
}

// counter of no other test, in the table of the records.
func (s *Store) counter(t *testing.T) counter {
	return counter{s, t, s.format.Key("counter#" + rand.Text())}
}

func (c counter) value() int {
	c.t.Helper()
	out, err := c.s.client.GetItem(c.t.Context(), &dynamodb.GetItemInput{TableName: &c.s.table, Key: c.key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		c.t.Fatal(err)
	}
	n, ok := out.Item["n"].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	value, err := strconv.Atoi(n.Value)
	if err != nil {
		c.t.Fatal(err)
	}
	return value
}

// account is an item of a handler's.
type account struct {
	ID      string `dynamodbav:"id"`
	Balance int    `dynamodbav:"balance"`
}

func accountKey(id string) map[string]string { return map[string]string{"id": id} }

// frozen freezes a transaction, and demands that there is something to send.
func frozen(t *testing.T, tx *Tx) *Tx {
	t.Helper()
	if empty, err := (*attachment)(tx).Freeze(); empty || err != nil {
		t.Fatalf("Freeze: empty %v, %v", empty, err)
	}
	return tx
}

// adding is a frozen transaction that adds 1 to counters.
func adding(t *testing.T, counters ...counter) *Tx {
	t.Helper()
	tx := new(Tx)
	for _, c := range counters {
		tx.Update(c.s.table, c.key, expression.Add(expression.Name("n"), expression.Value(1)))
	}
	return frozen(t, tx)
}

// completion of a claim, with a transaction.
func completion(tx *Tx) driver.Change {
	return driver.Change{Status: driver.Completed, Data: []byte(`"paid"`), Expires: now.Add(time.Hour), With: (*attachment)(tx)}
}

func rawDelete(t *testing.T) types.TransactWriteItem {
	t.Helper()
	return types.TransactWriteItem{Delete: &types.Delete{TableName: aws.String("t"), Key: mustMarshal(t, accountKey("a"))}}
}

func mustMarshal(t *testing.T, v any) map[string]types.AttributeValue {
	t.Helper()
	m, err := marshal(v)
	check.Must(t, err)
	return m
}
