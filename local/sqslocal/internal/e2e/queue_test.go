package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/sqslocal"
)

type order struct {
	OrderID  string `json:"orderId"`
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

type queue struct {
	sqslocal.Queue
	client *sqs.Client
}

func (q queue) send(t *testing.T, list []order) {
	t.Helper()
	for chunk := range slices.Chunk(list, 10) {
		var entries []types.SendMessageBatchRequestEntry
		for i, o := range chunk {
			body, err := json.Marshal(o)
			check.Must(t, err)
			entries = append(entries, types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String(string(body))})
		}
		if _, err := q.client.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: &q.URL, Entries: entries}); err != nil {
			t.Fatal(err)
		}
	}
	if n := q.left(t, q.URL); n != len(list) {
		t.Fatalf("%d messages of %d arrived", n, len(list))
	}
}

// left returns the number of messages in a queue, including invisible ones.
func (q queue) left(t *testing.T, url string) (n int) {
	t.Helper()
	names := []types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
	}
	out, err := q.client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: names})
	check.Must(t, err)
	for _, name := range names {
		count, err := strconv.Atoi(out.Attributes[string(name)])
		check.Must(t, err)
		n = max(n, count) // the server counts hidden messages in both
	}
	return n
}

// await returns when the queue is empty.
func (q queue) await(t *testing.T, patience time.Duration) {
	t.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); ; <-ticker.C {
		n := q.left(t, q.URL)
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d messages are left after %v", n, patience)
		}
	}
}

// dead receives all messages of the dead-letter queue, and counts them by order.
func (q queue) dead(t *testing.T) map[string]int {
	t.Helper()
	count := map[string]int{}
	for range q.left(t, q.DeadLetterURL) {
		out, err := q.client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &q.DeadLetterURL, VisibilityTimeout: 600})
		if err != nil || len(out.Messages) != 1 {
			t.Fatalf("the dead-letter queue gives %+v, %v", out, err)
		}
		var o order
		check.Must(t, json.Unmarshal([]byte(*out.Messages[0].Body), &o))
		count[o.OrderID]++
	}
	return count
}

func orders(from, to, quantity int) (list []order) {
	for i := from; i < to; i++ {
		list = append(list, order{OrderID: fmt.Sprintf("o-%04d", i), SKU: "cup", Quantity: quantity})
	}
	return list
}
