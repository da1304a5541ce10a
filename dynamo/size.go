package dynamo

import (
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxItemBytes is DynamoDB's limit for an item with its attribute names.
const maxItemBytes = 400 << 10

// itemBytes is the size of an item by DynamoDB's rules, numbers at their
// longest. A request far above the limit is refused in ways that depend on
// its size, so that it is better not sent.
func itemBytes(item map[string]types.AttributeValue) int {
	n := 0
	for name, v := range item {
		n += len(name) + valueBytes(v)
	}
	return n
}

func valueBytes(v types.AttributeValue) int {
	const number, collection, element = 21, 3, 1
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return number
	case *types.AttributeValueMemberM:
		return collection + itemBytes(v.Value) + element*len(v.Value)
	case *types.AttributeValueMemberL:
		n := collection
		for _, e := range v.Value {
			n += element + valueBytes(e)
		}
		return n
	default: // BOOL and NULL
		return 1
	}
}

var errItemSize = errors.New("an item holds at most 400 KB")

// tooLarge recognises DynamoDB's own refusal of an item for its size, which
// has no code of its own: the estimate does not know the attributes that
// other programs may have added.
func tooLarge(err error) bool {
	code, message := apiError(err)
	return code == "ValidationException" && strings.Contains(message, "exceeded the maximum allowed size")
}
