package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/local/crashtest"
	"github.com/lambda-once/once/local/dynamodblocal"
)

func TestTransferSurvivesEveryCrash(t *testing.T) {
	t.Parallel()
	a := newAccounts(t)
	crashtest.Run(t, a.function(transactional), a.open, a.check)
}

// The kit finds what mode plain exists to show.
func TestEveryCrashOfAPlainTransferIsFound(t *testing.T) {
	t.Parallel()
	a := newAccounts(t)
	report, err := crashtest.Play(t.Context(), a.function(plain), a.open, a.check)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	if all, broken := report.Points(); all != 14 || broken == all {
		t.Errorf("%d of %d points are broken", broken, all)
	}
	var found *crashtest.BrokenError
	if !errors.As(report.Err(), &found) {
		t.Fatalf("got %v", report.Err())
	}
	for _, want := range []string{
		"killed after 3: alice has 40 and bob 80, want 70 and 80", // the debit
		"killed before 4: alice has 40 and bob 80, want 70 and 80",
		"killed after 4: alice has 40 and bob 110, want 70 and 80", // the credit
		"killed before 5: alice has 40 and bob 110, want 70 and 80",
	} {
		if !slices.ContainsFunc(found.Results, func(r crashtest.Result) bool {
			return fmt.Sprintf("%v %d: %v", r.Crash, r.Number, r.Broken) == want
		}) {
			t.Errorf("%q is missing in %v", want, report)
		}
	}
}

// accounts are two accounts for every run.
type accounts struct {
	client         *dynamodb.Client
	records, table string
}

func newAccounts(t *testing.T) accounts {
	t.Helper()
	client, records := dynamodblocal.NewTable(t)
	_, table := dynamodblocal.NewTable(t)
	return accounts{client, records, table}
}

func (a accounts) function(mode string) crashtest.Function {
	return crashtest.Function{
		Binary:  deployed.Binary,
		Env:     []string{"IDEMPOTENCY_TABLE=" + a.records, "ACCOUNTS_TABLE=" + a.table, "TRANSFER_MODE=" + mode},
		Servers: []crashtest.Server{{Variable: "AWS_ENDPOINT_URL_DYNAMODB"}},
	}
}

// open opens the accounts of a run, and returns its transfer.
func (a accounts) open(ctx context.Context, run string) ([]byte, error) {
	for id, balance := range map[string]string{"alice-" + run: "100", "bob-" + run: "50"} {
		item := account(id)
		item["balance"] = &types.AttributeValueMemberN{Value: balance}
		if _, err := a.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &a.table, Item: item}); err != nil {
			return nil, err
		}
	}
	return []byte(event(run, "alice-"+run, "bob-"+run, 30)), nil
}

// check requires that the money was transferred once.
func (a accounts) check(ctx context.Context, run string) error {
	alice, err := a.balance(ctx, "alice-"+run)
	if err != nil {
		return err
	}
	bob, err := a.balance(ctx, "bob-"+run)
	if err == nil && (alice != 70 || bob != 80) {
		err = fmt.Errorf("alice has %d and bob %d, want 70 and 80", alice, bob)
	}
	return err
}

func (a accounts) balance(ctx context.Context, id string) (int, error) {
	out, err := a.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &a.table, Key: account(id), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return 0, err
	}
	n, ok := out.Item["balance"].(*types.AttributeValueMemberN)
	if !ok {
		return 0, fmt.Errorf("%s has no balance", id)
	}
	return strconv.Atoi(n.Value)
}
