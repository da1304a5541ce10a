package outbox_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	bridgetypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/examples/outbox"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent/outbound"
)

// sent is a message as a service received it.
type sent struct {
	body, group, deduplication, kind string
	attributes                       map[string]string
}

// service stands in for all three services. The bodies of messages decide which are
// refused, or missing in the response.
type service struct {
	calls       [][]sent
	down        error
	destination string
}

const refusedBody, forgottenBody = `{"refuse":true}`, `{"forget":true}`

func (s *service) SendMessageBatch(_ context.Context, in *sqs.SendMessageBatchInput, _ ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error) {
	var call []sent
	out := &sqs.SendMessageBatchOutput{}
	for _, e := range slices.Backward(in.Entries) { // responses are in no order
		m := sent{body: *e.MessageBody, group: aws.ToString(e.MessageGroupId), deduplication: aws.ToString(e.MessageDeduplicationId), attributes: map[string]string{}}
		for name, value := range e.MessageAttributes {
			m.attributes[name] = *value.DataType + " " + *value.StringValue
		}
		call = slices.Insert(call, 0, m)
		switch m.body {
		case refusedBody:
			out.Failed = append(out.Failed, sqstypes.BatchResultErrorEntry{Id: e.Id, Code: aws.String("InvalidMessageContents"), Message: aws.String("secret"), SenderFault: true})
		case forgottenBody:
		default:
			out.Successful = append(out.Successful, sqstypes.SendMessageBatchResultEntry{Id: e.Id})
		}
	}
	s.calls, s.destination = append(s.calls, call), *in.QueueUrl
	return out, s.down
}

func (s *service) PublishBatch(_ context.Context, in *sns.PublishBatchInput, _ ...func(*sns.Options)) (*sns.PublishBatchOutput, error) {
	var call []sent
	out := &sns.PublishBatchOutput{}
	for _, e := range slices.Backward(in.PublishBatchRequestEntries) {
		m := sent{body: *e.Message, group: aws.ToString(e.MessageGroupId), deduplication: aws.ToString(e.MessageDeduplicationId), attributes: map[string]string{}}
		for name, value := range e.MessageAttributes {
			m.attributes[name] = *value.DataType + " " + *value.StringValue
		}
		call = slices.Insert(call, 0, m)
		switch m.body {
		case refusedBody:
			out.Failed = append(out.Failed, snstypes.BatchResultErrorEntry{Id: e.Id, Code: aws.String("InvalidMessageContents"), Message: aws.String("secret"), SenderFault: true})
		case forgottenBody:
		default:
			out.Successful = append(out.Successful, snstypes.PublishBatchResultEntry{Id: e.Id})
		}
	}
	s.calls, s.destination = append(s.calls, call), *in.TopicArn
	return out, s.down
}

func (s *service) PutEvents(_ context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error) {
	var call []sent
	out := &eventbridge.PutEventsOutput{}
	for i, e := range in.Entries {
		call = append(call, sent{body: *e.Detail, kind: *e.DetailType + " of " + *e.Source})
		s.destination = *e.EventBusName
		switch {
		case strings.HasPrefix(*e.Detail, refusedBody[:len(refusedBody)-1]):
			out.Entries = append(out.Entries, bridgetypes.PutEventsResultEntry{ErrorCode: aws.String("InvalidMessageContents"), ErrorMessage: aws.String("secret")})
		case strings.HasPrefix(*e.Detail, forgottenBody[:len(forgottenBody)-1]):
			out.Entries = append(out.Entries, bridgetypes.PutEventsResultEntry{})
		default:
			out.Entries = append(out.Entries, bridgetypes.PutEventsResultEntry{EventId: aws.String(fmt.Sprint(i))})
		}
	}
	s.calls = append(s.calls, call)
	return out, s.down
}

// publishers are the three, to one far side.
func publishers(s *service) map[string]outbox.Publish {
	return map[string]outbox.Publish{
		"SQS": outbox.SQS(s, "orders"), "SNS": outbox.SNS(s, "orders"), "EventBridge": outbox.EventBridge(s, "orders", "shop"),
	}
}

// batch returns a message for each body, as the relay makes them.
func batch(bodies ...string) (messages []outbound.Message) {
	for i, body := range bodies {
		id := fmt.Sprintf("id-%d", i)
		messages = append(messages, outbound.Message{ID: id, Aggregate: fmt.Sprint("order-", i), Destination: "orders", Type: "placed",
			Body: []byte(body), Attributes: map[string]string{handlers.ChainAttribute: id}})
	}
	return messages
}
