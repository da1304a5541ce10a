package work

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// hand is idempotency written by hand: a conditional PutItem and a fenced
// UpdateItem. It takes nothing over, fingerprints nothing and stores no failure.
type hand struct {
	client *dynamodb.Client
	table  string
	run    caller
}

func (h hand) call(ctx context.Context, p payment) (receipt, error) {
	id, owner, expires := text("payment#"+p.ID), text(rand.Text()), number(time.Now().Add(24*time.Hour).Unix())
	_, err := h.client.PutItem(ctx, &dynamodb.PutItemInput{
		ConditionExpression:                 aws.String("attribute_not_exists(#id) OR #exp < :now"),
		ExpressionAttributeNames:            map[string]string{"#exp": "expiration", "#id": "id"},
		ExpressionAttributeValues:           map[string]types.AttributeValue{":now": number(time.Now().Unix())},
		Item:                                map[string]types.AttributeValue{"id": id, "status": text("INPROGRESS"), "owner": owner, "expiration": expires},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		TableName:                           &h.table,
	})
	var met *types.ConditionalCheckFailedException
	if errors.As(err, &met) {
		return replay(met.Item)
	}
	if err != nil {
		return receipt{}, err
	}
	r, err := h.run(ctx, p)
	if err != nil {
		return receipt{}, err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return receipt{}, err
	}
	_, err = h.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		ConditionExpression:      aws.String("#owner = :me AND #status = :inprogress"),
		ExpressionAttributeNames: map[string]string{"#data": "data", "#exp": "expiration", "#owner": "owner", "#status": "status"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":me": owner, ":inprogress": text("INPROGRESS"), ":completed": text("COMPLETED"), ":data": text(string(data)), ":exp": expires,
		},
		Key:              map[string]types.AttributeValue{"id": id},
		TableName:        &h.table,
		UpdateExpression: aws.String("SET #status = :completed, #data = :data, #exp = :exp"),
	})
	return r, err
}

// replay returns the result of a finished record.
func replay(item map[string]types.AttributeValue) (r receipt, err error) {
	if status, ok := item["status"].(*types.AttributeValueMemberS); ok && status.Value == "INPROGRESS" {
		return receipt{}, errRunning
	}
	data, ok := item["data"].(*types.AttributeValueMemberS)
	if !ok {
		return receipt{}, fmt.Errorf("a record without a result")
	}
	return r, json.Unmarshal([]byte(data.Value), &r)
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
