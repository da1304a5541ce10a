package main

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// itemBytes is the size of an item by DynamoDB's rules, by which reads and
// writes are billed. Numbers are estimated, as its own manual does.
func itemBytes(item map[string]types.AttributeValue) int {
	n := 0
	for name, v := range item {
		n += len(name) + valueBytes(v)
	}
	return n
}

func valueBytes(v types.AttributeValue) int {
	const collection, element = 3, 1
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return (len(strings.TrimLeft(v.Value, "-0"))+1)/2 + 1
	case *types.AttributeValueMemberM:
		return collection + itemBytes(v.Value) + element*len(v.Value)
	case *types.AttributeValueMemberL:
		n := collection
		for _, e := range v.Value {
			n += element + valueBytes(e)
		}
		return n
	case *types.AttributeValueMemberSS:
		n := collection
		for _, s := range v.Value {
			n += len(s)
		}
		return n
	default: // BOOL and NULL; other sets are nobody's here
		return 1
	}
}
