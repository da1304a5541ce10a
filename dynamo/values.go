package dynamo

import (
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Items are built by hand: the SDK's attributevalue package goes through
// reflection, and knows nothing of the difference between absent and empty.

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func seconds(t time.Time) types.AttributeValue { return number(t.Unix()) }

func millis(t time.Time) types.AttributeValue { return number(t.UnixMilli()) }

// wholeSeconds and wholeMillis are times as they come back from the table.

func wholeSeconds(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.Unix(t.Unix(), 0)
}

func wholeMillis(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.UnixMilli(t.UnixMilli())
}
