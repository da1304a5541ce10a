package crashmatrix

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
)

// queue receives batches as SQS does, and stores every message: its readers decide
// which ones are duplicates.
type queue struct {
	mu       sync.Mutex
	messages []message
}

type message struct {
	ID              string `json:"Id"` // in its batch
	Body            string `json:"MessageBody"`
	Group           string `json:"MessageGroupId"`
	DeduplicationID string `json:"MessageDeduplicationId"`
}

func (q *queue) all() []message {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.messages)
}

func (q *queue) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	var batch struct{ Entries []message }
	if err := json.NewDecoder(in.Body).Decode(&batch); err != nil || in.Header.Get("X-Amz-Target") != "AmazonSQS.SendMessageBatch" {
		http.Error(out, "not a batch", http.StatusBadRequest)
		return
	}
	var answer struct {
		Successful []map[string]string
		Failed     []map[string]string
	}
	for _, m := range batch.Entries {
		sum := md5.Sum([]byte(m.Body)) // which the SDK checks
		answer.Successful = append(answer.Successful, map[string]string{
			"Id": m.ID, "MessageId": m.ID, "MD5OfMessageBody": hex.EncodeToString(sum[:]),
		})
	}
	q.mu.Lock()
	q.messages = append(q.messages, batch.Entries...)
	q.mu.Unlock()
	out.Header().Set("Content-Type", "application/x-amz-json-1.0")
	if err := json.NewEncoder(out).Encode(answer); err != nil {
		panic(http.ErrAbortHandler) // the caller is gone
	}
}
