// Package attribute makes and measures attribute values of DynamoDB.
//
// The SDK's attributevalue package uses reflection, and does not tell absent
// from empty.
package attribute

import (
	"fmt"
	"strconv"
	"strings"
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
	if name, ok := strings.CutPrefix(fmt.Sprintf("%T", v), "*types.AttributeValueMember"); ok {
		return name
	}
	return "unknown"
}

// Plain returns a value as a string (S), an int64 (N), a []byte (B), a []any
// (L) or a map[string]any (M). It returns nil for a number that is not an int64, and
// for values of further types.
func Plain(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		if n, err := strconv.ParseInt(v.Value, 10, 64); err == nil {
			return n
		}
		return nil
	case *types.AttributeValueMemberB:
		return v.Value
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, e := range v.Value {
			list[i] = Plain(e)
		}
		return list
	case *types.AttributeValueMemberM:
		return PlainItem(v.Value)
	}
	return nil
}

// PlainItem returns the values of an item as Plain does.
func PlainItem(item map[string]types.AttributeValue) map[string]any {
	m := make(map[string]any, len(item))
	for name, v := range item {
		m[name] = Plain(v)
	}
	return m
}

// Of returns the value of which v is the plain form.
func Of(v any) types.AttributeValue {
	switch v := v.(type) {
	case string:
		return Text(v)
	case int64:
		return Number(v)
	case []byte:
		return &types.AttributeValueMemberB{Value: v}
	case []any:
		list := make([]types.AttributeValue, len(v))
		for i, e := range v {
			list[i] = Of(e)
		}
		return &types.AttributeValueMemberL{Value: list}
	case map[string]any:
		return &types.AttributeValueMemberM{Value: ItemOf(v)}
	}
	return &types.AttributeValueMemberNULL{Value: true}
}

// ItemOf returns the item of which m is the plain form.
func ItemOf(m map[string]any) map[string]types.AttributeValue {
	item := make(map[string]types.AttributeValue, len(m))
	for name, v := range m {
		item[name] = Of(v)
	}
	return item
}
