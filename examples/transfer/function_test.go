package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/local/postgreslocal"
)

func TestMain(m *testing.M) {
	os.Exit(deployed.Main(func() int { return postgreslocal.Main(tests{m}) }))
}

// tests are run with DynamoDB Local, too.
type tests struct{ *testing.M }

func (t tests) Run() int { return dynamodblocal.Main(t.M) }

// inPostgreSQL is the environment of a function whose accounts and records are in a
// database of its own.
const inPostgreSQL = "DATABASE_URL"

// function is the compiled function with tables of its own.
type function struct {
	*lambdaruntime.Runtime
	client            *dynamodb.Client
	records, accounts string
	pool              *pgxpool.Pool // in place of these
}

// start starts the function with these accounts. env extends the default environment.
func start(t *testing.T, f lambdaruntime.Function, balances map[string]int64, env ...string) function {
	t.Helper()
	var on function
	if slices.Contains(env, inPostgreSQL) {
		on, f.Env = newDatabase(t, balances)
		env = slices.DeleteFunc(slices.Clone(env), func(e string) bool { return e == inPostgreSQL })
	} else {
		on, f.Env = newTables(t, balances)
	}
	f.Name = "transfer"
	on.Runtime = deployed.Start(t, f, env...)
	return on
}

func newTables(t *testing.T, balances map[string]int64) (function, []string) {
	t.Helper()
	client, records := dynamodblocal.NewTable(t)
	_, accounts := dynamodblocal.NewTable(t)
	for id, balance := range balances {
		_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &accounts, Item: map[string]types.AttributeValue{
			"id":      &types.AttributeValueMemberS{Value: id},
			"balance": &types.AttributeValueMemberN{Value: strconv.FormatInt(balance, 10)},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return function{client: client, records: records, accounts: accounts}, []string{"IDEMPOTENCY_TABLE=" + records, "ACCOUNTS_TABLE=" + accounts}
}

// balances returns all balances at one moment.
func (f function) balances(t *testing.T, ids ...string) (list []int64) {
	t.Helper()
	if f.pool != nil {
		return f.balancesInDatabase(t, ids...)
	}
	var gets []types.TransactGetItem
	for _, id := range ids {
		gets = append(gets, types.TransactGetItem{Get: &types.Get{TableName: aws.String(f.accounts), Key: account(id)}})
	}
	out, err := f.client.TransactGetItems(t.Context(), &dynamodb.TransactGetItemsInput{TransactItems: gets})
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range out.Responses {
		n, ok := got.Item["balance"].(*types.AttributeValueMemberN)
		if !ok {
			t.Fatalf("%s has no balance: %v", ids[i], got.Item)
		}
		balance, err := strconv.ParseInt(n.Value, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, balance)
	}
	return list
}

// answer is what a caller receives: a receipt, or the type of an error.
type answer struct{ receipt, failure string }

// ask invokes the function. It returns an error if the invocation had no response.
func ask(ctx context.Context, to deployed.Invoker, event string) (answer, error) {
	r, err := deployed.Call[json.RawMessage](ctx, to, json.RawMessage(event))
	if failed, ok := errors.AsType[*lambdaruntime.FunctionError](err); ok {
		return answer{failure: failed.Type}, nil
	}
	return answer{receipt: string(r)}, err
}

// answers requires this answer.
func answers(t *testing.T, to deployed.Invoker, event string, want answer) {
	t.Helper()
	got, err := ask(t.Context(), to, event)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("%s was answered with %+v, want %+v", event, got, want)
	}
}

func event(id, from, to string, amount int64) string {
	text, err := json.Marshal(transfer{id, from, to, amount})
	if err != nil {
		panic(err) // strings and a number always marshal
	}
	return string(text)
}

func receiptOf(event string) answer {
	return answer{receipt: event[:len(event)-1] + `,"status":"transferred"}`}
}
