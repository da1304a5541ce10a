package dynamo

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// unmarshallable is an item that the attributevalue package refuses.
type unmarshallable struct{}

func (unmarshallable) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return nil, errors.New("no form")
}

// What DynamoDB would refuse is an error of the handler's, before anything is
// sent.
func TestMistakesAreFoundBeforeTheRequest(t *testing.T) {
	one := expression.Add(expression.Name("n"), expression.Value(1))
	exists := If(expression.Name("id").AttributeExists())
	large := bytes.Repeat([]byte{1}, 410<<10)
	many := func(n int) func(*Tx) {
		return func(tx *Tx) {
			for i := range n {
				tx.Put("t", account{ID: strconv.Itoa(i)})
			}
		}
	}
	small := driver.OutboxMessage{Aggregate: "a", Destination: "d"}
	for name, c := range map[string]struct {
		add   func(*Tx)
		code  string // "": no mistake
		index int
		text  string
	}{
		"99 items":          {add: many(99)},
		"100 items":         {add: many(100), code: CodeTooMany, index: -1, text: "100 items"},
		"98 and a message":  {add: func(tx *Tx) { many(98)(tx); tx.Publish(small); tx.Publish(small) }},
		"99 and a message":  {add: func(tx *Tx) { many(99)(tx); tx.Publish(small) }, code: CodeTooMany, index: -1, text: "1 of them for messages"},
		"an item too large": {add: func(tx *Tx) { tx.Delete("t", accountKey("a")); tx.Put("t", map[string]any{"id": "b", "v": large}) }, code: CodeTooLarge, index: 1, text: "409600"},
		"an update too large": {add: func(tx *Tx) {
			tx.Update("t", accountKey("a"), expression.Set(expression.Name("v"), expression.Value(large)))
		}, code: CodeTooLarge, index: 0},
		"messages too large": {add: func(tx *Tx) {
			for range 3 {
				tx.Publish(driver.OutboxMessage{Aggregate: "a", Destination: "d", Body: large[:140<<10]})
			}
		}, code: CodeTooLarge, index: -1, text: "messages of one aggregate"},
		"of several aggregates": {add: func(tx *Tx) {
			for i := range 3 {
				tx.Publish(driver.OutboxMessage{Aggregate: strconv.Itoa(i), Destination: "d", Body: large[:140<<10]})
			}
		}},
		"4 MB": {add: func(tx *Tx) {
			for i := range 11 {
				tx.Put("t", map[string]any{"id": i, "v": large[:399<<10]})
			}
		}, code: CodeTooLarge, index: -1, text: "4194304"},
		"many small numbers": {add: func(tx *Tx) {
			// At their longest, they would not fit.
			tx.Put("t", map[string]any{"id": "a", "v": make([]int, 100_000)})
		}},
		"a key twice": {add: func(tx *Tx) {
			tx.Update("t", accountKey("a"), one)
			tx.Update("t", accountKey("b"), one)
			tx.Check("t", map[string]any{"id": "a"}, exists)
		}, code: CodeDuplicate, index: 2},
		"a key in two tables": {add: func(tx *Tx) { tx.Delete("t", accountKey("a")); tx.Delete("u", accountKey("a")) }},
		"no table":            {add: func(tx *Tx) { tx.Put("", account{ID: "a"}) }, code: CodeInvalid, text: "table is empty"},
		"no item":             {add: func(tx *Tx) { tx.Put("t", nil) }, code: CodeInvalid, text: "no attributes"},
		"no struct":           {add: func(tx *Tx) { tx.Delete("t", 7) }, code: CodeInvalid, text: "struct or a map"},
		"no form":             {add: func(tx *Tx) { tx.Put("t", unmarshallable{}) }, code: CodeInvalid, text: "no form"},
		"an empty update":     {add: func(tx *Tx) { tx.Update("t", accountKey("a"), expression.UpdateBuilder{}) }, code: CodeInvalid},
		"an empty update, if": {add: func(tx *Tx) { tx.Update("t", accountKey("a"), expression.UpdateBuilder{}, exists) }, code: CodeInvalid},
		"the zero condition":  {add: func(tx *Tx) { tx.Check("t", accountKey("a"), Condition{}) }, code: CodeInvalid, text: "dynamo.If"},
		"a condition of nothing": {add: func(tx *Tx) { tx.Put("t", account{ID: "a"}, If(expression.Name("").AttributeExists())) },
			code: CodeInvalid, text: "expression"},
		"nothing raw": {add: func(tx *Tx) { tx.Add(types.TransactWriteItem{}) }, code: CodeInvalid, text: "one Put, Update"},
		"two in one": {add: func(tx *Tx) {
			w := rawDelete(t)
			w.Update = &types.Update{TableName: aws.String("t")}
			tx.Add(w)
		}, code: CodeInvalid, text: "one Put, Update"},
		"raw without table": {add: func(tx *Tx) { tx.Add(types.TransactWriteItem{Put: &types.Put{}}) }, code: CodeInvalid, text: "table is empty"},
		"an id":             {add: func(tx *Tx) { tx.Publish(driver.OutboxMessage{ID: "i", Aggregate: "a", Destination: "d"}) }, code: CodeInvalid, index: -1, text: "with an ID"},
		"no aggregate":      {add: func(tx *Tx) { tx.Publish(driver.OutboxMessage{Destination: "d"}) }, code: CodeInvalid, index: -1, text: "without Aggregate"},
		"no destination":    {add: func(tx *Tx) { tx.Publish(driver.OutboxMessage{Aggregate: "a"}) }, code: CodeInvalid, index: -1, text: "without Destination"},
		"a long aggregate":  {add: func(tx *Tx) { tx.Publish(driver.OutboxMessage{Aggregate: strings.Repeat("a", 2049), Destination: "d"}) }, code: CodeInvalid, index: -1, text: "2048"},
		"no UTF-8":          {add: func(tx *Tx) { tx.Publish(driver.OutboxMessage{Aggregate: "\xff", Destination: "d"}) }, code: CodeInvalid, index: -1, text: "UTF-8"},
		"the first counts": {add: func(tx *Tx) {
			tx.Delete("t", accountKey("a"))
			tx.Put("t", nil)
			tx.Put("", account{ID: "b"})
		}, code: CodeInvalid, index: 1, text: "no attributes"},
	} {
		t.Run(name, func(t *testing.T) {
			tx := new(Tx)
			c.add(tx)
			empty, err := (*attachment)(tx).Freeze()
			if c.code == "" {
				check.False(t, empty)
				check.Nil(t, err)
				return
			}
			var mistake *TransactionError
			if !errors.As(err, &mistake) || !errors.Is(err, ErrTransaction) || mistake.Code != c.code || mistake.Index != c.index {
				t.Fatalf("%v", err)
			}
			check.Says(t, err, c.text, "does not say")
		})
	}
}

// What only the store knows is refused without sending as well.
func TestStoreRefusesTransactionsThatDoNotFit(t *testing.T) {
	for name, c := range map[string]struct {
		add  func(*Tx)
		text string
	}{
		"no outbox": {func(tx *Tx) { tx.Publish(driver.OutboxMessage{Aggregate: "a", Destination: "d"}) }, "Options.Outbox"},
		"4 MB with the record": {func(tx *Tx) {
			for i := range 10 {
				tx.Put("t", map[string]any{"id": i, "v": bytes.Repeat([]byte{1}, 390<<10)})
			}
		}, "4194304"},
	} {
		t.Run(name, func(t *testing.T) {
			s, client := fakeStore(t, nil)
			uncompressed(t, s)
			tx := new(Tx)
			c.add(tx)
			frozen(t, tx)
			change := completion(tx)
			change.Data = bytes.Repeat([]byte{0xff}, 390<<10)
			_, ok, err := s.Change(t.Context(), fence("op#1"), change)
			check.False(t, ok)
			refused := check.As[*driver.Rejected](t, err)
			check.Is(t, refused.Err, ErrTransaction)
			check.Says(t, err, c.text)
			check.True(t, len(client.sent) <= 0, len(client.sent))
		})
	}
}

// Advice on what DynamoDB refuses as a whole names the cause in the
// transaction, and not in the records' table.
func TestTransactionErrorsSayWhatToDo(t *testing.T) {
	denied := "User: arn:aws:sts::1:assumed-role/r is not authorized to perform: dynamodb:ConditionCheckItem on resource: " +
		"arn:aws:dynamodb:eu-central-1:1:table/accounts because no identity-based policy allows the dynamodb:ConditionCheckItem action"
	for name, c := range map[string]struct{ code, message, advice string }{
		"denied":          {"AccessDeniedException", denied, `grant the role dynamodb:ConditionCheckItem on the table "accounts"`},
		"denied somehow":  {"AccessDeniedException", "no", "ConditionCheckItem on the tables of the transaction"},
		"denied a key":    {"AccessDeniedException", "User is not authorized to perform: kms:Decrypt on resource: key", "on the tables of the transaction"},
		"no table":        {"ResourceNotFoundException", "Requested resource not found", "one of these tables does not exist"},
		"twice":           {"ValidationException", "Transaction request cannot include multiple operations on one item", "one write of the two"},
		"keys":            {"ValidationException", "The provided key element does not match the schema", "key of an addition"},
		"size":            {"ValidationException", "Item size has exceeded the maximum allowed size", "400 KB"},
		"token":           {"IdempotentParameterMismatchException", "", "do not change the arguments"},
		"others as usual": {"ExpiredTokenException", "expired", "expired"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, wireClient(refusing(400, c.code, c.message)), "records", nil)
			err := s.Commit(t.Context(), "op#1", (*attachment)(twoAccounts(t)))
			failed := check.As[*Error](t, err)
			check.Contains(t, failed.Advice, c.advice)
			check.False(t, errors.Is(err, driver.ErrUnavailable))
		})
	}
}

// One is met on the real thing as well.
func TestTwoPutsOfOneItemAreRefused(t *testing.T) {
	s := inOwnTable(t, nil)
	tx := new(Tx)
	tx.Put(s.table, account{ID: "a"})
	tx.Put(s.table, account{ID: "a", Balance: 1})
	err := s.Commit(t.Context(), "op#1", (*attachment)(frozen(t, tx)))
	failed := check.As[*Error](t, err)
	check.Contains(t, failed.Advice, "one write of the two")
}
