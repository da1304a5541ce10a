package docs_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
)

// The code of docs/transactions.md. That of the outbox is in examples/checkout and
// examples/relay.

type Transfer struct {
	ID, From, To string
	Amount       int
}

type Account struct {
	ID      string `dynamodbav:"id"`
	Balance int    `dynamodbav:"balance"`
}

func account(id string) map[string]string { return map[string]string{"id": id} }

var errFunds = errors.New("insufficient funds")

type bank struct{ accounts string } // the table

func (b bank) transfer(ctx context.Context, t Transfer) (string, error) {
	balance, amount := expression.Name("balance"), expression.Value(t.Amount)

	tx := dynamo.Collect(ctx)
	tx.Update(b.accounts, account(t.From), expression.Set(balance, balance.Minus(amount)),
		dynamo.If(balance.GreaterThanEqual(amount)).
			Else(func(*dynamo.TransactionError) error { return idempotent.Permanent(errFunds) }))
	tx.Update(b.accounts, account(t.To), expression.Set(balance, balance.Plus(amount)),
		dynamo.If(balance.AttributeExists())) // an update of no item would create one
	return "transferred", nil
}

func transfers(store *dynamo.Store, accounts string) (func(context.Context, Transfer) (string, error), error) {
	x, err := idempotent.New("transfer", store, nil)
	if err != nil {
		return nil, err
	}
	key := func(t Transfer) (idempotent.Key, error) { return idempotent.Key{ID: t.ID, Payload: t}, nil }
	return idempotent.Wrap(x, key, bank{accounts}.transfer), nil
}

func optimistic(store *dynamo.Store) (*idempotent.Executor, error) {
	x, err := idempotent.New("transfer", store, &idempotent.Config{Optimistic: true})
	return x, err
}

func TestTransfers(t *testing.T) {
	client, table := dynamodblocal.NewTable(t) // starts DynamoDB Local where none runs, and deletes the table after the test
	store, err := dynamo.New(client, table, nil)
	check.Must(t, err)
	for _, a := range []Account{{"a", 100}, {"b", 0}} {
		item, err := attributevalue.MarshalMap(a)
		check.Must(t, err)
		_, err = client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item})
		check.Must(t, err)
	}
	do, err := transfers(store, table)
	check.Must(t, err)
	for range 3 {
		if got, err := do(t.Context(), Transfer{ID: "1", From: "a", To: "b", Amount: 70}); got != "transferred" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	// The first fails with the error itself, those after it with what is stored of it.
	for i, want := range []error{errFunds, idempotent.ErrReplayed} {
		_, err := do(t.Context(), Transfer{ID: "2", From: "a", To: "b", Amount: 70})
		check.Is(t, err, want, "call", i)
	}
	for id, want := range map[string]int{"a": 30, "b": 70} {
		key, err := attributevalue.MarshalMap(account(id))
		check.Must(t, err)
		out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: key})
		check.Must(t, err)
		var got Account
		check.Nil(t, attributevalue.UnmarshalMap(out.Item, &got))
		check.Equal(t, got.Balance, want, id)
	}
}

var _ = optimistic

var errAgain = errors.New("again")

func sendOn(ctx context.Context, event []byte, request *http.Request) (map[string]string, []byte, error) {
	attributes := handlers.ChainAttributes(ctx, "reserve")      // for SQS and SNS
	detail, err := handlers.ChainDetail(ctx, "reserved", event) // for EventBridge
	httpapi.SetChainHeaders(ctx, request.Header, "charge")      // for HTTP
	return attributes, detail, err
}

// Whatever becomes of an attempt, the next one sends with the same keys.
func TestChainsPageOfKeysThatStay(t *testing.T) {
	x := mustPolicies(t)
	seen := map[string]int{}
	for range 2 {
		_, err := idempotent.Do(t.Context(), x, idempotent.Key{ID: "order"}, func(ctx context.Context) (string, error) {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://charges.example.com", nil)
			if err != nil {
				return "", err
			}
			attributes, detail, err := sendOn(ctx, []byte(`{"order":9007199254740993}`), request)
			if err != nil {
				return "", err
			}
			var sent map[string]any
			if err := json.Unmarshal(detail, &sent); err != nil {
				return "", err
			}
			seen[attributes[handlers.ChainAttribute]]++
			seen[sent[handlers.ChainAttribute].(string)]++
			seen[request.Header.Get("Idempotency-Key")]++
			return "", errAgain
		})
		check.Equal(t, err, errAgain)
	}
	check.Equal(t, len(seen), 3, "keys and how often they were used", seen)
	for key, n := range seen {
		check.Equal(t, n, 2, "times used", key)
		check.Differ(t, key, "")
	}
}
