package sqslocal

import "fmt"

// An AnswerError reports that the response of a function is not a valid report of
// failures. The whole batch counts as failed.
type AnswerError struct {
	// Answer is the response as sent.
	Answer []byte
	// Reason describes the mistake.
	Reason string
}

func (e *AnswerError) Error() string {
	return fmt.Sprintf("sqslocal: the answer %.200s: %s", e.Answer, e.Reason)
}

// A DeleteError reports that a handled message is still in the queue. It will be
// delivered again.
type DeleteError struct {
	MessageID string
	// Code and Reason are those of the queue.
	Code, Reason string
	// SenderFault reports whether the queue refused the request, most likely
	// after the visibility timeout. Otherwise three attempts failed.
	SenderFault bool
	// Err is the error of the request if the queue did not respond.
	Err error
}

func (e *DeleteError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("sqslocal: delete message %s: %v", e.MessageID, e.Err)
	}
	return fmt.Sprintf("sqslocal: delete message %s: %s: %s", e.MessageID, e.Code, e.Reason)
}

// Unwrap returns the error of the request, or nil.
func (e *DeleteError) Unwrap() error { return e.Err }

// A ReceiveError reports that no messages can be received from the queue.
type ReceiveError struct {
	// Queue is the URL of the queue.
	Queue string
	Err   error
}

func (e *ReceiveError) Error() string {
	return fmt.Sprintf("sqslocal: receive from %s: %v", e.Queue, e.Err)
}

// Unwrap returns the error of the request.
func (e *ReceiveError) Unwrap() error { return e.Err }
