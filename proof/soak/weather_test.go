package soak

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/wire"
	"github.com/lambda-once/once/local/dynamodblocal"
)

// bad is a table behind weather that has one fault for each request.
type bad struct {
	*weather
	client *dynamodb.Client // without retries
	direct *dynamodb.Client
	table  string
}

func newBad(t *testing.T) *bad {
	t.Helper()
	direct, table := dynamodblocal.NewTable(t)
	options := direct.Options()
	w, err := newWeather(*options.BaseEndpoint, rand.New(rand.NewPCG(1, 0)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	})
	return &bad{w, to(t, direct, w.URL()), direct, table}
}

// to returns a client without retries.
func to(t *testing.T, direct *dynamodb.Client, url string) *dynamodb.Client {
	options := direct.Options()
	connections := &http.Transport{}
	t.Cleanup(connections.CloseIdleConnections)
	options.BaseEndpoint, options.Retryer, options.HTTPClient = &url, aws.NopRetryer{}, &http.Client{Transport: connections}
	return dynamodb.New(options)
}

// answering returns a client of DynamoDB with this fate for each request.
func (b *bad) answering(t *testing.T, carry wire.Carry) *dynamodb.Client {
	p, err := wire.HTTP(*b.direct.Options().BaseEndpoint, carry)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return to(t, b.direct, p.URL())
}

// The SDK and the store take the answers for those of a busy DynamoDB.
func TestThrottlingAnswersAreDynamoDBsOwn(t *testing.T) {
	b := newBad(t)
	b.gust(time.Hour)
	store, err := dynamo.New(b.client, b.table, nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for n := range 100 {
		_, err := store.Get(t.Context(), fmt.Sprint("do#", n))
		if err == nil {
			continue // the gust spares some
		}
		if !errors.Is(err, driver.ErrThrottled) && errors.Is(err, driver.ErrUnavailable) {
			continue // another fault
		}
		if !errors.Is(err, driver.ErrThrottled) {
			t.Fatalf("%v is not throttled", err)
		}
		for name, kind := range map[string]any{
			"exceeded": new(*types.ProvisionedThroughputExceededException),
			"throttle": new(*types.ThrottlingException),
			"limit":    new(*types.RequestLimitExceeded),
		} {
			seen[name] = seen[name] || errors.As(err, kind)
		}
	}
	if len(seen) != 3 || !seen["exceeded"] || !seen["throttle"] || !seen["limit"] {
		t.Errorf("the SDK recognizes %v", seen)
	}
}

func TestCancelledTransactionNamesEachItem(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	a := cancelled([]byte(`{"TransactItems":[{},{},{}]}`), random)
	b := newBad(t)
	client := b.answering(t, func(*wire.Request) (*wire.Response, error) { return a, nil })
	item := types.TransactWriteItem{Put: &types.Put{TableName: &b.table, Item: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "x"}}}}
	_, err := client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{item}})
	c, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || len(c.CancellationReasons) != 3 {
		t.Fatalf("got %v, want three reasons", err)
	}
	codes := map[string]int{}
	for _, r := range c.CancellationReasons {
		codes[*r.Code]++
	}
	if codes["None"] != 2 || len(codes) != 2 {
		t.Errorf("codes %v", codes)
	}
}

// Of a batch, the refused statements have an error in their place, and were not
// applied unless the error leaves that open. The others were.
func TestRefusedStatementsAreNotApplied(t *testing.T) {
	b := newBad(t)
	client := b.answering(t, func(r *wire.Request) (*wire.Response, error) {
		return refuseStatements(r, b.random)
	})
	refused, applied := map[string]int{}, 0
	for batch := range 30 {
		var in dynamodb.BatchExecuteStatementInput
		for n := range 5 {
			in.Statements = append(in.Statements, types.BatchStatementRequest{
				Statement:  aws.String(`INSERT INTO "` + b.table + `" VALUE {'id':?}`),
				Parameters: []types.AttributeValue{&types.AttributeValueMemberS{Value: fmt.Sprint(batch, "-", n)}},
			})
		}
		out, err := client.BatchExecuteStatement(t.Context(), &in)
		if err != nil || len(out.Responses) != 5 {
			t.Fatalf("got %+v, %v", out, err)
		}
		for n, r := range out.Responses {
			found, err := b.direct.GetItem(t.Context(), &dynamodb.GetItemInput{
				TableName: &b.table, ConsistentRead: aws.Bool(true),
				Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: fmt.Sprint(batch, "-", n)}},
			})
			if err != nil {
				t.Fatal(err)
			}
			there := len(found.Item) > 0
			switch {
			case r.Error == nil:
				applied++
				if !there {
					t.Error("a statement without an error was not applied")
				}
			case r.Error.Code == types.BatchStatementErrorCodeEnumInternalServerError:
				refused["unknown"]++
			default:
				refused[string(r.Error.Code)]++
				if there {
					t.Errorf("a statement with %s was applied", r.Error.Code)
				}
			}
		}
	}
	if len(refused) != len(statementErrors) || applied == 0 {
		t.Errorf("%d applied, refused %v", applied, refused)
	}
}

// The SDK finds the keys that were not read, in the form in which it asks for them.
func TestWithheldKeysAreUnprocessed(t *testing.T) {
	b := newBad(t)
	client := b.answering(t, func(r *wire.Request) (*wire.Response, error) {
		return withholdKeys(r, b.random)
	})
	var keys []map[string]types.AttributeValue
	for n := range 5 {
		key := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: fmt.Sprint(n)}}
		if _, err := b.direct.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &b.table, Item: key}); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	read, requests := 0, 0
	for ask := map[string]types.KeysAndAttributes{b.table: {Keys: keys, ConsistentRead: aws.Bool(true)}}; len(ask) > 0; requests++ {
		out, err := client.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: ask})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Responses[b.table]) == 0 {
			t.Fatal("nothing was read")
		}
		read += len(out.Responses[b.table])
		ask = out.UnprocessedKeys
	}
	if read != len(keys) || requests < 2 {
		t.Errorf("%d keys were read by %d requests", read, requests)
	}
}
