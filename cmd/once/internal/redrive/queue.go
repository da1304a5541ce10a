package redrive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/cmd/once/internal/cli"
)

// A Queue holds messages, and hides those that it has returned for so long.
type Queue struct {
	client *sqs.Client
	url    string
	hold   time.Duration
}

func Open(ctx context.Context, client *sqs.Client, name string, hold time.Duration) (*Queue, error) {
	q := &Queue{client, name, hold}
	if strings.Contains(name, "://") {
		return q, nil
	}
	in := &sqs.GetQueueUrlInput{QueueName: &name}
	if of, err := arn.Parse(name); err == nil {
		in = &sqs.GetQueueUrlInput{QueueName: &of.Resource, QueueOwnerAWSAccountId: &of.AccountID}
	}
	out, err := client.GetQueueUrl(ctx, in)
	if err != nil {
		return nil, err
	}
	q.url = *out.QueueUrl
	return q, nil
}

func (q *Queue) Name() string { return q.url[strings.LastIndex(q.url, "/")+1:] }

func (q *Queue) FIFO() bool { return strings.HasSuffix(q.url, ".fifo") }

func (q *Queue) Sources(ctx context.Context) (all []*Queue, err error) {
	pages := sqs.NewListDeadLetterSourceQueuesPaginator(q.client, &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: &q.url})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, url := range page.QueueUrls {
			all = append(all, &Queue{q.client, url, q.hold})
		}
	}
	return all, nil
}

// Attributes are the settings and the size of a queue.
type Attributes struct {
	Visibility, Retention time.Duration
	Messages              int    // about so many, hidden or not
	DeadLetters           string // the ARN of a queue, after so many receives
	Receives              int
}

func (q *Queue) Attributes(ctx context.Context) (a Attributes, err error) {
	out, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &q.url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	if err != nil {
		return a, err
	}
	number := func(text string) int {
		n, wrong := strconv.Atoi(text)
		err = errors.Join(err, wrong)
		return n
	}
	a.Visibility = time.Duration(number(out.Attributes["VisibilityTimeout"])) * time.Second
	a.Retention = time.Duration(number(out.Attributes["MessageRetentionPeriod"])) * time.Second
	a.Messages = number(out.Attributes["ApproximateNumberOfMessages"]) + number(out.Attributes["ApproximateNumberOfMessagesNotVisible"])
	if text := out.Attributes["RedrivePolicy"]; text != "" {
		var policy struct {
			DeadLetterTargetARN string      `json:"deadLetterTargetArn"`
			MaxReceiveCount     json.Number `json:"maxReceiveCount"` // a text in some answers
		}
		if err := json.Unmarshal([]byte(text), &policy); err != nil {
			return a, fmt.Errorf("RedrivePolicy: %w", err)
		}
		a.DeadLetters, a.Receives = policy.DeadLetterTargetARN, number(string(policy.MaxReceiveCount))
	}
	return a, err
}

const batch = 10 // the most of a request of SQS

// Each receives up to most messages, each of them once. Of a group of a FIFO queue, SQS returns
// no further ones while some are hidden.
func (q *Queue) Each(ctx context.Context, most int, each func(types.Message) error) (all bool, err error) {
	seen := map[string]bool{}
	for len(seen) < most {
		out, err := q.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &q.url, MaxNumberOfMessages: int32(min(batch, most-len(seen))), WaitTimeSeconds: 1, VisibilityTimeout: int32(q.hold / time.Second),
			MessageAttributeNames: []string{"All"}, MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		})
		switch {
		case err != nil:
			return false, err
		case len(out.Messages) == 0: // a long poll asks all servers
			return true, nil
		}
		var again []*string // of messages that are visible again
		for _, m := range out.Messages {
			if seen[*m.MessageId] {
				again = append(again, m.ReceiptHandle)
				continue
			}
			seen[*m.MessageId] = true
			err = errors.Join(err, each(m))
		}
		if err != nil || again != nil {
			return false, errors.Join(err, q.GiveBack(ctx, again))
		}
	}
	return false, nil
}

func (q *Queue) GiveBack(ctx context.Context, receipts []*string) error {
	for len(receipts) > 0 {
		n := min(batch, len(receipts))
		in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &q.url}
		for i, receipt := range receipts[:n] {
			in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: receipt})
		}
		if _, err := q.client.ChangeMessageVisibilityBatch(ctx, in); err != nil {
			return err
		}
		receipts = receipts[n:]
	}
	return nil
}

// Hold hides a message anew. It fails if the message is visible again: a second operator may
// have moved it.
func (q *Queue) Hold(ctx context.Context, m *Message) error {
	_, err := q.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &q.url, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: int32(q.hold / time.Second),
	})
	return err
}

// Move sends a message that is held to a queue, and deletes it once the send is acknowledged.
// In between the message is in both queues. If it is not deleted, it has the same key in both.
func (q *Queue) Move(ctx context.Context, m *Message, to *Queue) error {
	in := &sqs.SendMessageInput{QueueUrl: &to.url, MessageBody: m.Message.Body, MessageAttributes: m.MessageAttributes}
	if group, has := m.Attributes["MessageGroupId"]; has { // standard queues have groups, too
		in.MessageGroupId = &group
	}
	if to.FIFO() {
		// It is the same one if the command is repeated within five minutes. That of the message
		// may be the one of a different message, which SQS would then drop.
		in.MessageDeduplicationId = &m.ID
	}
	if trace, has := m.Attributes["AWSTraceHeader"]; has {
		in.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: aws.String("String"), StringValue: &trace},
		}
	}
	const both = "message %s may be in both queues, where its record makes the second one a duplicate: repeat the command: %w"
	if _, err := q.client.SendMessage(ctx, in); err != nil {
		if refused(err) {
			return cli.Endf(cli.CodeFailed, "message %s was not moved: %w", m.ID, err)
		}
		return cli.Endf(cli.CodeUnacknowledged, both, m.ID, err)
	}
	if _, err := q.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &q.url, ReceiptHandle: m.ReceiptHandle}); err != nil {
		return cli.Endf(cli.CodeUnacknowledged, both, m.ID, err)
	}
	m.Moved = true
	return nil
}

func refused(err error) bool {
	var response *awshttp.ResponseError
	return errors.As(err, &response) && response.HTTPStatusCode() >= http.StatusBadRequest && response.HTTPStatusCode() < http.StatusInternalServerError
}

func sent(millis string) time.Time {
	at, err := strconv.ParseInt(millis, 10, 64)
	if err != nil {
		return time.Time{} // as old as can be
	}
	return time.UnixMilli(at).UTC()
}

// isFailureEvent reports whether Lambda has sent a body to a failure destination.
func isFailureEvent(body string) bool {
	var e struct {
		RequestContext struct{ FunctionArn, ApproximateInvokeCount json.RawMessage }
	}
	return json.Unmarshal([]byte(body), &e) == nil && e.RequestContext.FunctionArn != nil && e.RequestContext.ApproximateInvokeCount != nil
}
