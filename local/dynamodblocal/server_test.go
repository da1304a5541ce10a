package dynamodblocal

import (
	"net"
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

func TestNewTableWithoutAServer(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server of its own")
	}
	t.Setenv(endpointVar, "")
	var endpoint string
	t.Run("inner", func(t *testing.T) {
		client, table := NewTable(t)
		endpoint = *client.Options().BaseEndpoint
		_, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
		check.Must(t, err)
	})
	check.False(t, listens(endpoint), "outlived its test")
}

func listens(endpoint string) bool {
	conn, err := net.Dial("tcp", strings.TrimPrefix(endpoint, "http://"))
	if err != nil {
		return false
	}
	return conn.Close() == nil
}
