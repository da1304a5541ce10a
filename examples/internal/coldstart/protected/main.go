// Command protected is command bare with Once.
package main

import (
	"context"
	"log"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
)

type order struct{ ID string }

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	store, err := dynamo.New(dynamodb.NewFromConfig(cfg), os.Getenv("IDEMPOTENCY_TABLE"), nil)
	if err != nil {
		log.Fatal(err)
	}
	x, err := idempotent.New("place-order", store, nil)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(idempotent.Wrap(x, key, place))
}

func key(o order) (idempotent.Key, error) { return idempotent.Key{ID: o.ID}, nil }

func place(_ context.Context, o order) (string, error) { return "placed " + o.ID, nil }
