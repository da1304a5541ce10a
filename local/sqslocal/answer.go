package sqslocal

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// failures returns the messages that a response reports as failed. An error means that
// the whole batch failed.
//
// It decodes into maps, because with a struct encoding/json would accept
// batchitemfailures as batchItemFailures, and AWS does not.
func failures(answer []byte, batch map[string]bool) (map[string]bool, error) {
	if len(bytes.TrimSpace(answer)) == 0 {
		return nil, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(answer, &members); err != nil {
		return nil, &AnswerError{Answer: answer, Reason: err.Error()}
	}
	list, ok := members["batchItemFailures"]
	if !ok {
		return nil, nil
	}
	var items []map[string]json.RawMessage
	if err := json.Unmarshal(list, &items); err != nil {
		return nil, &AnswerError{Answer: answer, Reason: err.Error()}
	}
	failed := make(map[string]bool, len(items))
	for i, item := range items {
		var id string
		raw, ok := item["itemIdentifier"]
		if !ok {
			return nil, &AnswerError{Answer: answer, Reason: fmt.Sprintf("item %d has no itemIdentifier", i)}
		}
		if err := json.Unmarshal(raw, &id); err != nil {
			return nil, &AnswerError{Answer: answer, Reason: err.Error()}
		}
		if !batch[id] { // "", which null is as well, is never in a batch
			return nil, &AnswerError{Answer: answer, Reason: fmt.Sprintf("item %d is %q, which is not in the batch", i, id)}
		}
		failed[id] = true
	}
	return failed, nil
}
