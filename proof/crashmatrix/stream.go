package crashmatrix

import (
	"context"
	"reflect"
	"slices"
	"strconv"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// inserted adds new items of an outbox to the event of its stream.
func (s *stage) inserted(ctx context.Context, outbox string, event *events.DynamoDBEvent) error {
	items, err := s.Items(ctx, outbox)
	for _, item := range items {
		image := streamImage(item)
		known := func(r events.DynamoDBEventRecord) bool { return reflect.DeepEqual(r.Change.NewImage, image) }
		if slices.ContainsFunc(event.Records, known) {
			continue
		}
		i := len(event.Records)
		event.Records = append(event.Records, events.DynamoDBEventRecord{
			EventID: strconv.Itoa(i), EventName: string(events.DynamoDBOperationTypeInsert), EventSource: "aws:dynamodb",
			Change: events.DynamoDBStreamRecord{
				Keys:     map[string]events.DynamoDBAttributeValue{"aggregate": image["aggregate"], "id": image["id"]},
				NewImage: image, SequenceNumber: strconv.Itoa(100 + i), StreamViewType: "NEW_IMAGE",
			},
		})
	}
	return err
}

func streamImage(item map[string]types.AttributeValue) map[string]events.DynamoDBAttributeValue {
	image := map[string]events.DynamoDBAttributeValue{}
	for name, value := range item {
		image[name] = streamValue(value)
	}
	return image
}

// streamValue converts the types that an outbox uses.
func streamValue(value types.AttributeValue) events.DynamoDBAttributeValue {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return events.NewStringAttribute(v.Value)
	case *types.AttributeValueMemberN:
		return events.NewNumberAttribute(v.Value)
	case *types.AttributeValueMemberB:
		return events.NewBinaryAttribute(v.Value)
	case *types.AttributeValueMemberM:
		return events.NewMapAttribute(streamImage(v.Value))
	case *types.AttributeValueMemberL:
		list := []events.DynamoDBAttributeValue{}
		for _, e := range v.Value {
			list = append(list, streamValue(e))
		}
		return events.NewListAttribute(list)
	}
	return events.NewNullAttribute()
}
