package attribute

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// MaxItemSize is DynamoDB's limit for an item with its attribute names.
const MaxItemSize = 400 << 10

// ItemSize returns the size of an item by DynamoDB's rules, by which reads and
// writes are billed. Numbers are estimated: see [Size].
func ItemSize(item map[string]types.AttributeValue) int {
	n := 0
	for name, v := range item {
		n += len(name) + Size(v)
	}
	return n
}

// Size returns the size of a value by DynamoDB's rules. DynamoDB's manual only
// approximates numbers. Size counts no more than DynamoDB does, so that no item
// is refused that DynamoDB would take.
func Size(v types.AttributeValue) int {
	const collection, element = 3, 1
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return numberSize(v.Value)
	case *types.AttributeValueMemberSS:
		return setSize(v.Value, func(s string) int { return len(s) })
	case *types.AttributeValueMemberNS:
		return setSize(v.Value, numberSize)
	case *types.AttributeValueMemberBS:
		return setSize(v.Value, func(b []byte) int { return len(b) })
	case *types.AttributeValueMemberM:
		return collection + ItemSize(v.Value) + element*len(v.Value)
	case *types.AttributeValueMemberL:
		n := collection
		for _, e := range v.Value {
			n += element + Size(e)
		}
		return n
	default: // BOOL and NULL
		return 1
	}
}

func setSize[E any](elements []E, size func(E) int) int {
	n := 0
	for _, e := range elements {
		n += size(e)
	}
	return n
}

// numberSize counts a byte for two significant digits and one more. It ignores
// zeros at both ends.
func numberSize(n string) int {
	mantissa, _, _ := strings.Cut(strings.ToLower(n), "e")
	digits := strings.Trim(strings.Replace(strings.TrimLeft(mantissa, "+-"), ".", "", 1), "0")
	return len(digits)/2 + 1
}
