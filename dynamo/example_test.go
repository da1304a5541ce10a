package dynamo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"os"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/dynamo/outbox"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// The examples run on DynamoDB Local. A function uses
// dynamodb.NewFromConfig.
func localClient() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB")),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
		Region: "eu-central-1",
	})
}

// executor returns an executor with a store in a table of its own, as Example
// makes it.
func executor(ctx context.Context, client *dynamodb.Client, operation string, options *dynamo.Options) *idempotent.Executor {
	table := "records-" + rand.Text()
	if err := dynamo.CreateTable(ctx, client, table, options); err != nil {
		log.Fatal(err)
	}
	store, err := dynamo.New(client, table, options)
	if err != nil {
		log.Fatal(err)
	}
	x, err := idempotent.New(operation, store, nil)
	if err != nil {
		log.Fatal(err)
	}
	return x
}

// accounts creates a table of accounts with a balance.
func accounts(ctx context.Context, client *dynamodb.Client, balances map[string]string) string {
	table := "accounts-" + rand.Text()
	if err := dynamo.CreateTable(ctx, client, table, nil); err != nil {
		log.Fatal(err)
	}
	for id, balance := range balances {
		_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: map[string]types.AttributeValue{
			"id": &types.AttributeValueMemberS{Value: id}, "balance": &types.AttributeValueMemberN{Value: balance},
		}})
		if err != nil {
			log.Fatal(err)
		}
	}
	return table
}

// balance reads the balance of an account.
func balance(ctx context.Context, client *dynamodb.Client, table, id string) string {
	out, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table,
		Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}}})
	if err != nil {
		log.Fatal(err)
	}
	return out.Item["balance"].(*types.AttributeValueMemberN).Value
}

type key struct {
	ID string `dynamodbav:"id"`
}

func Example() {
	ctx, client, table := context.Background(), localClient(), "records-"+rand.Text()
	if err := dynamo.CreateTable(ctx, client, table, nil); err != nil {
		log.Fatal(err)
	}
	store, err := dynamo.New(client, table, nil)
	if err != nil {
		log.Fatal(err)
	}
	x, err := idempotent.New("create-payment", store, nil)
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		receipt, err := idempotent.Do(ctx, x, idempotent.Key{ID: "order-7"}, func(context.Context) (string, error) {
			fmt.Println("charging the card")
			return "receipt 1", nil
		})
		fmt.Println(receipt, err)
	}
	// Output:
	// charging the card
	// receipt 1 <nil>
	// receipt 1 <nil>
}

// The first call of a process finds the connection open.
func ExampleStore_Warm() {
	ctx, client, table := context.Background(), localClient(), "records-"+rand.Text()
	if err := dynamo.CreateTable(ctx, client, table, nil); err != nil {
		log.Fatal(err)
	}
	store, err := dynamo.New(client, table, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := store.Warm(ctx); err != nil {
		log.Print(err) // the first call tries again
	}
	fmt.Println("ready")
	// Output: ready
}

// Writes of calls that run at the same time share requests.
func ExampleOptions_group() {
	ctx := context.Background()
	x := executor(ctx, localClient(), "resize-image", &dynamo.Options{Group: 1})
	var resized atomic.Int64
	var calls sync.WaitGroup
	for i := range 100 {
		calls.Go(func() {
			image := fmt.Sprint("image-", i%50) // each comes twice
			_, err := idempotent.Do(ctx, x, idempotent.Key{ID: image}, func(context.Context) (string, error) {
				resized.Add(1)
				return image + "-small", nil
			})
			if err != nil && !errors.Is(err, idempotent.ErrInProgress) {
				log.Print(err)
			}
		})
	}
	calls.Wait()
	fmt.Println(resized.Load(), "images")
	// Output: 50 images
}

func ExampleCollect() {
	ctx, client := context.Background(), localClient()
	accounts := accounts(ctx, client, map[string]string{"alice": "100", "bob": "0"})
	x := executor(ctx, client, "transfer", nil)
	// Both updates are committed together with the result of the call.
	transfer := func(ctx context.Context) (string, error) {
		money := expression.Name("balance")
		tx := dynamo.Collect(ctx)
		tx.Update(accounts, key{"alice"}, expression.Add(money, expression.Value(-30)),
			dynamo.If(money.GreaterThanEqual(expression.Value(30))))
		tx.Update(accounts, key{"bob"}, expression.Add(money, expression.Value(30)),
			dynamo.If(money.AttributeExists()))
		return "transferred 30", nil
	}
	for range 2 {
		fmt.Println(idempotent.Do(ctx, x, idempotent.Key{ID: "transfer-1"}, transfer))
	}
	fmt.Println("alice:", balance(ctx, client, accounts, "alice"))
	fmt.Println("bob:", balance(ctx, client, accounts, "bob"))
	// Output:
	// transferred 30 <nil>
	// transferred 30 <nil>
	// alice: 70
	// bob: 30
}

func ExampleCondition_Else() {
	ctx, client := context.Background(), localClient()
	accounts := accounts(ctx, client, map[string]string{"alice": "10"})
	x := executor(ctx, client, "withdraw", nil)
	errFunds := errors.New("the balance is too low")
	errAccount := errors.New("there is no such account")
	// A retry would meet the same balance, so the errors are permanent.
	refuse := func(e *dynamo.TransactionError) error {
		if len(e.Item) == 0 {
			return idempotent.Permanent(errAccount)
		}
		return idempotent.Permanent(errFunds)
	}
	for _, account := range []string{"alice", "carol"} {
		_, err := idempotent.Do(ctx, x, idempotent.Key{ID: "withdrawal of " + account}, func(ctx context.Context) (string, error) {
			money := expression.Name("balance")
			dynamo.Collect(ctx).Update(accounts, key{account}, expression.Add(money, expression.Value(-30)),
				dynamo.If(money.GreaterThanEqual(expression.Value(30))).Else(refuse))
			return "withdrawn", nil
		})
		fmt.Println(account, errors.Is(err, errFunds), errors.Is(err, errAccount))
	}
	// Output:
	// alice true false
	// carol false true
}

func ExampleTx_Publish() {
	ctx, client := context.Background(), localClient()
	messages := "outbox-" + rand.Text()
	if err := outbox.CreateTable(ctx, client, messages); err != nil {
		log.Fatal(err)
	}
	x := executor(ctx, client, "place-order", &dynamo.Options{Outbox: messages})
	_, err := idempotent.Do(ctx, x, idempotent.Key{ID: "order-7"}, func(ctx context.Context) (string, error) {
		dynamo.Collect(ctx).Publish(driver.OutboxMessage{
			Aggregate: "order-7", Destination: "order-events", Type: "OrderPlaced", Body: []byte(`{"id":"order-7"}`),
		})
		return "placed", nil
	})
	if err != nil {
		log.Fatal(err)
	}
	out, err := client.Scan(ctx, &dynamodb.ScanInput{TableName: &messages})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Count, "item in the outbox")
	// Output:
	// 1 item in the outbox
}

func ExampleCreateTable_compositeKeys() {
	ctx, client, table := context.Background(), localClient(), "records-"+rand.Text()
	options := &dynamo.Options{
		Layout: dynamo.Layout{
			ID: "pk", SortKey: "sk", Partition: "payments",
			Shards: 4, // for up to 4,000 writes a second
		},
	}
	if err := dynamo.CreateTable(ctx, client, table, options); err != nil {
		log.Fatal(err)
	}
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		log.Fatal(err)
	}
	for _, k := range out.Table.KeySchema {
		fmt.Println(k.KeyType, *k.AttributeName)
	}
	// Output:
	// HASH pk
	// RANGE sk
}
