package dynamodblocal

import (
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/internal/check"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func TestNewTable(t *testing.T) {
	client, table := NewTable(t)
	_, other := NewTable(t)
	check.Differ(t, table, other)
	check.True(t, strings.HasPrefix(table, "TestNewTable-"))
	key := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "a"}}
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: key}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{table: true, other: false} {
		got, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &name, Key: key, ConsistentRead: aws.Bool(true)})
		check.Must(t, err)
		check.Equal(t, got.Item != nil, want, "the item is there", name)
	}
	ttl, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	check.Must(t, err)
	check.Equal(t, aws.ToString(ttl.TimeToLiveDescription.AttributeName), "expiration", "time to live is on")
}
