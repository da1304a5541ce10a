package dynamo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
)

// fakeClient returns the scripted results in turn, and then empty successes. It
// records the requests in DynamoDB's own words.
type fakeClient struct {
	results []result
	sent    []string
	tokens  []string // of transactions
}

type result struct {
	item map[string]types.AttributeValue
	err  error
}

func (c *fakeClient) next(sent string) result {
	c.sent = append(c.sent, sent)
	if len(c.results) == 0 {
		return result{}
	}
	r := c.results[0]
	c.results = c.results[1:]
	return r
}

func (c *fakeClient) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	r := c.next(describe("PutItem",
		"item", show(in.Item), "if", *in.ConditionExpression, "names", showNames(in.ExpressionAttributeNames),
		"values", show(in.ExpressionAttributeValues), "on failure", string(in.ReturnValuesOnConditionCheckFailure)))
	return &dynamodb.PutItemOutput{}, r.err
}

func (c *fakeClient) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	r := c.next(describe("UpdateItem",
		"key", show(in.Key), "update", *in.UpdateExpression, "if", *in.ConditionExpression, "names", showNames(in.ExpressionAttributeNames),
		"values", show(in.ExpressionAttributeValues), "return", string(in.ReturnValues), "on failure", string(in.ReturnValuesOnConditionCheckFailure)))
	return &dynamodb.UpdateItemOutput{Attributes: r.item}, r.err
}

func (c *fakeClient) DeleteItem(_ context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	r := c.next(describe("DeleteItem",
		"key", show(in.Key), "if", *in.ConditionExpression, "names", showNames(in.ExpressionAttributeNames),
		"values", show(in.ExpressionAttributeValues), "on failure", string(in.ReturnValuesOnConditionCheckFailure)))
	return &dynamodb.DeleteItemOutput{}, r.err
}

func (c *fakeClient) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	c.tokens = append(c.tokens, *in.ClientRequestToken)
	parts := []string{"TransactWriteItems"}
	for _, item := range in.TransactItems {
		parts = append(parts, describeWrite(item))
	}
	r := c.next(strings.Join(parts, "\n\n"))
	return &dynamodb.TransactWriteItemsOutput{}, r.err
}

func describeWrite(w types.TransactWriteItem) string {
	switch {
	case w.Put != nil:
		p := w.Put
		return describe("Put", "table", *p.TableName, "item", show(p.Item), "if", aws.ToString(p.ConditionExpression),
			"names", showNames(p.ExpressionAttributeNames), "values", show(p.ExpressionAttributeValues),
			"on failure", string(p.ReturnValuesOnConditionCheckFailure))
	case w.Update != nil:
		u := w.Update
		return describe("Update", "table", *u.TableName, "key", show(u.Key), "update", *u.UpdateExpression, "if", aws.ToString(u.ConditionExpression),
			"names", showNames(u.ExpressionAttributeNames), "values", show(u.ExpressionAttributeValues),
			"on failure", string(u.ReturnValuesOnConditionCheckFailure))
	case w.Delete != nil:
		d := w.Delete
		return describe("Delete", "table", *d.TableName, "key", show(d.Key), "if", aws.ToString(d.ConditionExpression),
			"names", showNames(d.ExpressionAttributeNames), "values", show(d.ExpressionAttributeValues),
			"on failure", string(d.ReturnValuesOnConditionCheckFailure))
	default:
		k := w.ConditionCheck
		return describe("ConditionCheck", "table", *k.TableName, "key", show(k.Key), "if", *k.ConditionExpression,
			"names", showNames(k.ExpressionAttributeNames), "values", show(k.ExpressionAttributeValues),
			"on failure", string(k.ReturnValuesOnConditionCheckFailure))
	}
}

func (c *fakeClient) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	r := c.next(describe("GetItem", "key", show(in.Key), "consistent", fmt.Sprint(*in.ConsistentRead)))
	return &dynamodb.GetItemOutput{Item: r.item}, r.err
}

func describe(op string, pairs ...string) string {
	lines := []string{op}
	for i := 0; i < len(pairs); i += 2 {
		lines = append(lines, pairs[i]+": "+pairs[i+1])
	}
	return strings.Join(lines, "\n")
}

func show(m map[string]types.AttributeValue) string {
	var b strings.Builder
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s=%s", k, showValue(m[k]))
	}
	return b.String()
}

func showValue(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return "N" + v.Value
	case *types.AttributeValueMemberB:
		return fmt.Sprintf("B%q", v.Value)
	case *types.AttributeValueMemberM:
		return "{" + show(v.Value) + "}"
	case *types.AttributeValueMemberL:
		var parts []string
		for _, e := range v.Value {
			parts = append(parts, showValue(e))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case *types.AttributeValueMemberBOOL:
		return fmt.Sprint("BOOL", v.Value)
	case *types.AttributeValueMemberNULL:
		return "NULL"
	default:
		panic(fmt.Sprintf("values of type %s are not compared yet", attribute.TypeName(v)))
	}
}

func showNames(m map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, k+"="+m[k])
	}
	return strings.Join(parts, " ")
}

func fakeStore(t *testing.T, o *Options, results ...result) (*Store, *fakeClient) {
	t.Helper()
	c := &fakeClient{results: results}
	return newStore(t, c, "records", o), c
}
