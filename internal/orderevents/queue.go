// Package orderevents stands in for the two sides of examples/relay: the stream of an outbox, and
// the queue that receives its messages.
package orderevents

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
)

// Queue receives batches as SQS does, and stores every message: its readers decide
// which ones are duplicates. It is safe for concurrent use.
type Queue struct {
	mu       sync.Mutex
	messages []Message
	refused  []string // groups
}

// A Message is an entry of a batch.
type Message struct {
	ID              string                                  `json:"Id"` // in its batch
	Body            string                                  `json:"MessageBody"`
	Group           string                                  `json:"MessageGroupId"`
	DeduplicationID string                                  `json:"MessageDeduplicationId"`
	Attributes      map[string]struct{ StringValue string } `json:"MessageAttributes"`
}

// Messages returns the messages so far, in their order.
func (q *Queue) Messages() []Message {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.messages)
}

// Refuse makes the queue refuse the messages of these groups, and no others.
func (q *Queue) Refuse(groups ...string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.refused = groups
}

// ServeHTTP responds to SendMessageBatch.
func (q *Queue) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	var batch struct{ Entries []Message }
	if err := json.NewDecoder(in.Body).Decode(&batch); err != nil || in.Header.Get("X-Amz-Target") != "AmazonSQS.SendMessageBatch" {
		http.Error(out, "not a batch", http.StatusBadRequest)
		return
	}
	var answer struct{ Successful, Failed []map[string]any }
	q.mu.Lock()
	for _, m := range batch.Entries {
		if slices.Contains(q.refused, m.Group) {
			answer.Failed = append(answer.Failed, map[string]any{"Id": m.ID, "Code": "InternalError", "SenderFault": false})
			continue
		}
		sum := md5.Sum([]byte(m.Body)) // which the SDK checks
		answer.Successful = append(answer.Successful, map[string]any{
			"Id": m.ID, "MessageId": m.ID, "MD5OfMessageBody": hex.EncodeToString(sum[:]),
		})
		q.messages = append(q.messages, m)
	}
	q.mu.Unlock()
	out.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_ = json.NewEncoder(out).Encode(answer) // a caller that has left retries
}
