package attribute

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/internal/check"
)

// The sizes are those of DynamoDB's manual. Of a number it says: about a byte
// for two significant digits, and one more.
func TestItemSizeCountsNamesAndValues(t *testing.T) {
	number := func(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
	for name, c := range map[string]struct {
		value types.AttributeValue
		want  int
	}{
		"text":                  {&types.AttributeValueMemberS{Value: "é"}, 2},
		"binary":                {&types.AttributeValueMemberB{Value: make([]byte, 7)}, 7},
		"null":                  {&types.AttributeValueMemberNULL{Value: true}, 1},
		"one digit":             {number("7"), 1},
		"sign, point and zeros": {number("-0012.3400"), 3},
		"exponent":              {number("12e10"), 2},
		"list":                  {&types.AttributeValueMemberL{Value: []types.AttributeValue{number("12"), number("1")}}, 3 + 1 + 2 + 1 + 1},
		"map":                   {&types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"ab": number("12")}}, 3 + 1 + 2 + 2},
		"numbers":               {&types.AttributeValueMemberNS{Value: []string{"12", "34"}}, 4},
	} {
		check.Equal(t, ItemSize(map[string]types.AttributeValue{"name": c.value})-len("name"), c.want, name)
	}
}
