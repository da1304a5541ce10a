package dynamodblocal_test

import (
	"context"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/local/dynamodblocal"
)

// A program has a server of its own until it ends. Tests use NewTable instead.
func ExampleStart() {
	ctx := context.Background()
	server, err := dynamodblocal.Start(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			log.Print(err)
		}
	}()
	tables, err := server.Client().ListTables(ctx, &dynamodb.ListTablesInput{})
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(server.Endpoint(), len(tables.TableNames), "tables")
}
