package main

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/proof/internal/function"
)

type settings struct {
	client   *dynamodb.Client
	effects  string
	executor *idempotent.Executor
}

func settingsFromEnv() (*settings, error) {
	client := function.Client()
	store, err := dynamo.New(client, os.Getenv("RECORDS_TABLE"), nil)
	if err != nil {
		return nil, err
	}
	var c idempotent.Config
	err = errors.Join(
		function.Duration(&c.Lease, "LEASE"), function.Duration(&c.ClockSkew, "SKEW"),
		function.Duration(&c.Reserve, "RESERVE"), function.Duration(&c.Wait, "WAIT"),
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

// effect writes an item with a new ID, so that every repetition is counted.
func (s *settings) effect(ctx context.Context, key string) (id string, err error) {
	id = rand.Text()
	_, err = s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.effects, Item: map[string]types.AttributeValue{
		"id":  &types.AttributeValueMemberS{Value: id},
		"key": &types.AttributeValueMemberS{Value: key},
	}})
	return id, err
}
