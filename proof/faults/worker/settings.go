package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
)

type settings struct {
	client   *dynamodb.Client
	effects  string
	executor *idempotent.Executor
}

func settingsFromEnv() (*settings, error) {
	// The SDK's module config would read all this, but this module does not
	// require it otherwise.
	client := dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB")),
		Region:       os.Getenv("AWS_REGION"),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	})
	store, err := dynamo.New(client, os.Getenv("RECORDS_TABLE"), nil)
	if err != nil {
		return nil, err
	}
	var c idempotent.Config
	err = errors.Join(
		duration(&c.Lease, "LEASE"), duration(&c.ClockSkew, "SKEW"),
		duration(&c.Reserve, "RESERVE"), duration(&c.Wait, "WAIT"),
	)
	if text := os.Getenv("MAX_ATTEMPTS"); text != "" {
		n, atoiErr := strconv.Atoi(text)
		c.MaxAttempts, err = n, errors.Join(err, atoiErr)
	}
	if err != nil {
		return nil, err
	}
	x, err := idempotent.New("work", store, &c)
	if err != nil {
		return nil, err
	}
	return &settings{client: client, effects: os.Getenv("EFFECTS_TABLE"), executor: x}, nil
}

func duration(field *time.Duration, name string) (err error) {
	text := os.Getenv(name)
	if text == "" {
		return nil // the library's default
	}
	if *field, err = time.ParseDuration(text); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// effect writes an item with a new ID, so that every repetition is counted.
func (s *settings) effect(ctx context.Context, key string) (id string, err error) {
	id = rand.Text()
	_, err = s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.effects, Item: map[string]types.AttributeValue{
		"id":  &types.AttributeValueMemberS{Value: id},
		"key": &types.AttributeValueMemberS{Value: key},
	}})
	return id, err
}
