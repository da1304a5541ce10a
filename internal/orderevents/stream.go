package orderevents

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Inserted returns the record of a new item, which is number n of its stream.
func Inserted(n int, item map[string]types.AttributeValue) events.DynamoDBEventRecord {
	all := image(item)
	return events.DynamoDBEventRecord{
		EventID: strconv.Itoa(n), EventName: string(events.DynamoDBOperationTypeInsert), EventSource: "aws:dynamodb",
		Change: events.DynamoDBStreamRecord{
			Keys:     map[string]events.DynamoDBAttributeValue{"aggregate": all["aggregate"], "id": all["id"]},
			NewImage: all, SequenceNumber: strconv.Itoa(100 + n), StreamViewType: "NEW_IMAGE",
		},
	}
}

func image(item map[string]types.AttributeValue) map[string]events.DynamoDBAttributeValue {
	all := map[string]events.DynamoDBAttributeValue{}
	for name, v := range item {
		all[name] = value(v)
	}
	return all
}

// value converts the types that an outbox uses.
func value(v types.AttributeValue) events.DynamoDBAttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return events.NewStringAttribute(v.Value)
	case *types.AttributeValueMemberN:
		return events.NewNumberAttribute(v.Value)
	case *types.AttributeValueMemberB:
		return events.NewBinaryAttribute(v.Value)
	case *types.AttributeValueMemberM:
		return events.NewMapAttribute(image(v.Value))
	case *types.AttributeValueMemberL:
		list := []events.DynamoDBAttributeValue{}
		for _, e := range v.Value {
			list = append(list, value(e))
		}
		return events.NewListAttribute(list)
	}
	panic(fmt.Sprintf("an outbox has a %T", v))
}
