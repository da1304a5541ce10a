package bench

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent"
)

// byHand is idempotency written by hand: a claim, and a completion that the owner fences.
// It takes nothing over, fingerprints nothing and stores no failure.
type byHand struct {
	run handler
	// claim stores a record, or returns the status and the result of the one it met.
	claim    func(ctx context.Context, id, owner string) (status string, data []byte, err error)
	complete func(ctx context.Context, id, owner string, data []byte) error
}

const inProgress, finished = "INPROGRESS", "COMPLETED"

func (h byHand) call(ctx context.Context, p payment) (r receipt, err error) {
	id, owner := "payment#"+p.ID, rand.Text()
	status, data, err := h.claim(ctx, id, owner)
	switch {
	case err != nil:
		return receipt{}, err
	case status == inProgress:
		return receipt{}, idempotent.ErrInProgress
	case status != "":
		return r, json.Unmarshal(data, &r)
	}
	if r, err = h.run(ctx, p); err != nil {
		return receipt{}, err
	}
	if data, err = json.Marshal(r); err != nil {
		return receipt{}, err
	}
	return r, h.complete(ctx, id, owner, data)
}

// hand returns the function that makes the calls of a series by hand.
func (s *series) hand(latency time.Duration, run handler) (handler, error) {
	endpoint, table := s.at(latency)
	switch s.on {
	case onDynamoDB:
		return handDynamoDB(s.dynamodb(endpoint), table, run).call, nil
	case onRedis:
		return handRedis(s.redis(endpoint), table+":", run).call, nil
	}
	pool, err := s.pool(endpoint)
	if err != nil {
		return nil, err
	}
	return handPostgreSQL(pool, table, run).call, nil
}

// handDynamoDB is a conditional PutItem and a fenced UpdateItem.
func handDynamoDB(client *dynamodb.Client, table string, run handler) byHand {
	return byHand{run: run, claim: func(ctx context.Context, id, owner string) (string, []byte, error) {
		_, err := client.PutItem(ctx, &dynamodb.PutItemInput{
			ConditionExpression:       aws.String("attribute_not_exists(#id) OR #exp < :now"),
			ExpressionAttributeNames:  map[string]string{"#exp": "expiration", "#id": "id"},
			ExpressionAttributeValues: map[string]types.AttributeValue{":now": number(time.Now().Unix())},
			Item: map[string]types.AttributeValue{
				"id": text(id), "status": text(inProgress), "owner": text(owner), "expiration": number(tomorrow().Unix()),
			},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			TableName:                           &table,
		})
		var met *types.ConditionalCheckFailedException
		if !errors.As(err, &met) {
			return "", nil, err
		}
		return textOf(met.Item["status"]), []byte(textOf(met.Item["data"])), nil
	}, complete: func(ctx context.Context, id, owner string, data []byte) error {
		_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			ConditionExpression:      aws.String("#owner = :me AND #status = :inprogress"),
			ExpressionAttributeNames: map[string]string{"#data": "data", "#exp": "expiration", "#owner": "owner", "#status": "status"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":me": text(owner), ":inprogress": text(inProgress), ":completed": text(finished),
				":data": text(string(data)), ":exp": number(tomorrow().Unix()),
			},
			Key:              map[string]types.AttributeValue{"id": text(id)},
			TableName:        &table,
			UpdateExpression: aws.String("SET #status = :completed, #data = :data, #exp = :exp"),
		})
		return err
	}}
}

// handPostgreSQL is an INSERT and a fenced UPDATE, in the table of package postgres. Both
// store when the record expires, as on DynamoDB and Redis. A duplicate also needs a
// SELECT, because INSERT does not return the row that it met.
func handPostgreSQL(pool *pgxpool.Pool, table string, run handler) byHand {
	table = pgx.Identifier{table}.Sanitize()
	insert := "INSERT INTO " + table + " (id, status, owner, expires) VALUES ($1, 'INPROGRESS', $2, $3) ON CONFLICT (id) DO NOTHING"
	update := "UPDATE " + table + " SET status = 'COMPLETED', data = $3, expires = $4 WHERE id = $1 AND owner = $2 AND status = 'INPROGRESS'"
	lookup := "SELECT status, data FROM " + table + " WHERE id = $1"
	return byHand{run: run, claim: func(ctx context.Context, id, owner string) (status string, data []byte, err error) {
		claimed, err := pool.Exec(ctx, insert, id, owner, tomorrow())
		if err == nil && claimed.RowsAffected() == 0 {
			err = pool.QueryRow(ctx, lookup, id).Scan(&status, &data)
		}
		return status, data, err
	}, complete: func(ctx context.Context, id, owner string, data []byte) error {
		completed, err := pool.Exec(ctx, update, id, owner, data, tomorrow())
		if err == nil && completed.RowsAffected() != 1 {
			err = errors.New("the claim is lost")
		}
		return err
	}}
}

// handRedis is SET NX, and a SET that nothing fences. A duplicate also needs a GET.
func handRedis(client *redis.Client, prefix string, run handler) byHand {
	const day = 24 * time.Hour
	return byHand{run: run, claim: func(ctx context.Context, id, _ string) (status string, data []byte, err error) {
		claimed, err := client.SetNX(ctx, prefix+id, inProgress, day).Result()
		if err != nil || claimed {
			return "", nil, err
		}
		data, err = client.Get(ctx, prefix+id).Bytes()
		if string(data) == inProgress {
			return inProgress, nil, err
		}
		return finished, data, err
	}, complete: func(ctx context.Context, id, _ string, data []byte) error {
		return client.Set(ctx, prefix+id, data, day).Err()
	}}
}

func tomorrow() time.Time { return time.Now().Add(24 * time.Hour) }

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func textOf(v types.AttributeValue) string {
	s, _ := v.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
