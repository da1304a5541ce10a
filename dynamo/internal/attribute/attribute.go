// Package attribute makes and measures attribute values of DynamoDB.
//
// The SDK's attributevalue package uses reflection, and does not tell absent
// from empty.
package attribute

import (
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Text returns a value of type S.
func Text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Number returns a value of type N.
func Number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// Seconds returns t as a number of epoch seconds.
func Seconds(t time.Time) types.AttributeValue { return Number(t.Unix()) }

// Millis returns t as a number of epoch milliseconds.
func Millis(t time.Time) types.AttributeValue { return Number(t.UnixMilli()) }

// TypeName returns DynamoDB's name of the type of v, for error texts.
func TypeName(v types.AttributeValue) string {
	switch v.(type) {
	case *types.AttributeValueMemberB:
		return "B"
	case *types.AttributeValueMemberBOOL:
		return "BOOL"
	case *types.AttributeValueMemberBS:
		return "BS"
	case *types.AttributeValueMemberL:
		return "L"
	case *types.AttributeValueMemberM:
		return "M"
	case *types.AttributeValueMemberN:
		return "N"
	case *types.AttributeValueMemberNS:
		return "NS"
	case *types.AttributeValueMemberNULL:
		return "NULL"
	case *types.AttributeValueMemberS:
		return "S"
	case *types.AttributeValueMemberSS:
		return "SS"
	default:
		return "unknown"
	}
}
