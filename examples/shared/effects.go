package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"

	"github.com/lambda-once/once/examples/internal/program"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/powertools"
)

// answer is the result of an execution, and of its replays. The event keeps its
// numbers to the last digit.
type answer struct {
	Record string          `json:"record"`
	Event  json.RawMessage `json:"event"`
}

// effects makes an execution visible: one item each.
type effects struct {
	client *dynamodb.Client
	table  string
	delay  time.Duration
}

func newEffects() (*effects, error) {
	e := &effects{table: os.Getenv("SHARED_TABLE")}
	if e.table == "" {
		return nil, fmt.Errorf("SHARED_TABLE is not set")
	}
	var err error
	e.delay, err = program.Duration("SHARED_DELAY", 0, 0)
	return e, err
}

// overRecords returns the handler: it executes once for each record.
func overRecords(x *idempotent.Executor, keys *powertools.Keyer, e *effects) handler {
	return func(ctx context.Context, event json.RawMessage) (answer, error) {
		key, err := keys.Key(event)
		if err != nil {
			return answer{}, err
		}
		return idempotent.Do(ctx, x, key, func(ctx context.Context) (answer, error) {
			return answer{Record: key.Record, Event: event}, e.execute(ctx, key.Record)
		})
	}
}

func (e *effects) execute(ctx context.Context, record string) error {
	_, err := e.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &e.table, Item: map[string]types.AttributeValue{
		"id":     &types.AttributeValueMemberS{Value: uuid.NewString()},
		"record": &types.AttributeValueMemberS{Value: record},
	}})
	if err != nil || e.delay == 0 {
		return err
	}
	return program.Pause(ctx, e.delay)
}
