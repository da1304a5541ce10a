package recorditem

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
)

// maxReadDepth bounds the recursion over what was stored. DynamoDB allows 32
// levels, but not every response need come from DynamoDB.
const maxReadDepth = 100

func writeJSON(b *bytes.Buffer, v types.AttributeValue, depth int) error {
	if depth > maxReadDepth {
		return errors.New("a native result nested too deeply")
	}
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return writeString(b, v.Value)
	case *types.AttributeValueMemberN:
		if !isNumber(v.Value) {
			return errors.New("a native result with a number that is not valid in JSON")
		}
		b.WriteString(v.Value)
	case *types.AttributeValueMemberBOOL:
		fmt.Fprintf(b, "%t", v.Value)
	case *types.AttributeValueMemberNULL:
		b.WriteString("null")
	case *types.AttributeValueMemberL:
		return writeList(b, v.Value, depth)
	case *types.AttributeValueMemberM:
		return writeMap(b, v.Value, depth)
	default:
		return fmt.Errorf("a native result with a value of type %s", attribute.TypeName(v))
	}
	return nil
}

func writeList(b *bytes.Buffer, list []types.AttributeValue, depth int) error {
	b.WriteByte('[')
	for i, v := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeJSON(b, v, depth+1); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

// writeMap sorts: a record must have the same bytes each time it is read.
func writeMap(b *bytes.Buffer, m map[string]types.AttributeValue, depth int) error {
	b.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeString(b, name); err != nil {
			return err
		}
		b.WriteByte(':')
		if err := writeJSON(b, m[name], depth+1); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}
