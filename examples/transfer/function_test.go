package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/serving"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/local/postgreslocal"
)

func TestMain(m *testing.M) {
	withDynamoDB := serving.Tests(func() int { return dynamodblocal.Main(m) })
	os.Exit(deployed.Main(func() int { return postgreslocal.Main(withDynamoDB) }))
}

// inPostgreSQL is the environment of a function whose accounts and records are in a
// database of its own.
const inPostgreSQL = "DATABASE_URL"

// function is the compiled function with tables of its own.
type function struct {
	*lambdaruntime.Runtime
	client   *dynamodb.Client
	accounts string
	pool     *pgxpool.Pool // in place of these
	env      []string      // of the function
}

// start starts the function with these accounts. env extends the default environment.
func start(t *testing.T, f lambdaruntime.Function, balances map[string]int64, env ...string) function {
	t.Helper()
	var on function
	if slices.Contains(env, inPostgreSQL) {
		on = newDatabase(t)
		env = slices.DeleteFunc(slices.Clone(env), func(e string) bool { return e == inPostgreSQL })
	} else {
		on = newTables(t)
	}
	check.Must(t, on.deposit(t.Context(), balances))
	f.Name, f.Env = "transfer", on.env
	on.Runtime = deployed.Start(t, f, env...)
	return on
}

func newTables(t *testing.T) function {
	t.Helper()
	client, records := dynamodblocal.NewTable(t)
	_, accounts := dynamodblocal.NewTable(t)
	return function{client: client, accounts: accounts, env: []string{"IDEMPOTENCY_TABLE=" + records, "ACCOUNTS_TABLE=" + accounts}}
}

func newDatabase(t *testing.T) function {
	t.Helper()
	url, pool := deployed.NewDatabase(t)
	return function{pool: pool, env: []string{"IDEMPOTENCY_TABLE=idempotency", "DATABASE_URL=" + url}}
}

// deposit opens accounts.
func (f function) deposit(ctx context.Context, balances map[string]int64) (err error) {
	for id, balance := range balances {
		if f.pool != nil {
			_, err = f.pool.Exec(ctx, "INSERT INTO accounts VALUES ($1, $2)", id, balance)
		} else {
			item := account(id)
			item["balance"] = &types.AttributeValueMemberN{Value: strconv.FormatInt(balance, 10)}
			_, err = f.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &f.accounts, Item: item})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// read returns all balances at one moment.
func (f function) read(ctx context.Context, ids ...string) (list []int64, err error) {
	if f.pool != nil {
		rows, _ := f.pool.Query(ctx, "SELECT balance FROM accounts WHERE id = ANY($1) ORDER BY array_position($1, id)", ids)
		list, err = pgx.CollectRows(rows, pgx.RowTo[int64]) // or the error of Query
		if err == nil && len(list) != len(ids) {
			err = fmt.Errorf("%v of %q", list, ids)
		}
		return list, err
	}
	var gets []types.TransactGetItem
	for _, id := range ids {
		gets = append(gets, types.TransactGetItem{Get: &types.Get{TableName: &f.accounts, Key: account(id)}})
	}
	out, err := f.client.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: gets})
	if err != nil {
		return nil, err
	}
	for i, got := range out.Responses {
		n, ok := got.Item["balance"].(*types.AttributeValueMemberN)
		if !ok {
			return nil, fmt.Errorf("%s has no balance: %v", ids[i], got.Item)
		}
		balance, err := strconv.ParseInt(n.Value, 10, 64)
		if err != nil {
			return nil, err
		}
		list = append(list, balance)
	}
	return list, nil
}

func (f function) balances(t *testing.T, ids ...string) []int64 {
	t.Helper()
	list, err := f.read(t.Context(), ids...)
	check.Must(t, err)
	return list
}

// answer is the response to a caller: a receipt, or the type of an error.
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
	check.Must(t, err)
	check.Equal(t, got, want, event)
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
