package dynamo

import (
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxItemBytes is DynamoDB's limit for an item with its attribute names.
const maxItemBytes = 400 << 10

// itemBytes is the size of an item by DynamoDB's rules. A request far above the
// limit is refused in ways that depend on its size, so that it is better not
// sent.
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
		return numberBytes(v.Value)
	case *types.AttributeValueMemberSS:
		return setBytes(v.Value, func(s string) int { return len(s) })
	case *types.AttributeValueMemberNS:
		return setBytes(v.Value, numberBytes)
	case *types.AttributeValueMemberBS:
		return setBytes(v.Value, func(b []byte) int { return len(b) })
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

func setBytes[E any](elements []E, bytes func(E) int) int {
	n := 0
	for _, e := range elements {
		n += bytes(e)
	}
	return n
}

// numberBytes is a byte for two significant digits and one more: no more than
// DynamoDB counts, so that no item is refused that it would take.
func numberBytes(n string) int {
	mantissa, _, _ := strings.Cut(strings.ToLower(n), "e")
	digits := strings.Trim(strings.Replace(strings.TrimLeft(mantissa, "+-"), ".", "", 1), "0")
	return len(digits)/2 + 1
}

// tooLarge recognises DynamoDB's own refusal of an item for its size, which
// has no code of its own: the estimate does not know the attributes that
// other programs may have added.
func tooLarge(err error) bool {
	code, message := apiError(err)
	return code == "ValidationException" && tooLargeMessage(message)
}

func tooLargeMessage(message string) bool {
	return strings.Contains(message, "exceeded the maximum allowed size")
}
