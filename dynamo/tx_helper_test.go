package dynamo

import (
	"crypto/rand"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// counter is an item with a number, as a handler's effect.
type counter struct {
	s   *Store
	t   *testing.T
	key map[string]types.AttributeValue
}

// counter of no other test, in the table of the records.
func (s *Store) counter(t *testing.T) counter {
	return counter{s, t, s.layout.key("counter#" + rand.Text())}
}

func (c counter) value() int {
	c.t.Helper()
	out, err := c.s.client.GetItem(c.t.Context(), &dynamodb.GetItemInput{TableName: &c.s.table, Key: c.key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		c.t.Fatal(err)
	}
	n, ok := out.Item["n"].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	value, err := strconv.Atoi(n.Value)
	if err != nil {
		c.t.Fatal(err)
	}
	return value
}
