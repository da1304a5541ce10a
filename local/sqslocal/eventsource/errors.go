package eventsource

import "fmt"

// AnswerError means that a function which reports failures has answered what
// is no such report. The whole batch counts as failed.
type AnswerError struct {
	// Answer as it was sent.
	Answer []byte
	// Reason is what is wrong with it.
	Reason string
}

func (e *AnswerError) Error() string {
	return fmt.Sprintf("eventsource: the answer %.200s: %s", e.Answer, e.Reason)
}

// DeleteError means that a message which the function is done with is still in
// the queue. It will be delivered again.
type DeleteError struct {
	MessageID string
	// Code and Reason are the queue's.
	Code, Reason string
	// SenderFault: the queue refused the request, most likely because the
	// visibility timeout was over. Else three attempts have failed.
	SenderFault bool
	// Err is not nil where the queue did not answer.
	Err error
}

func (e *DeleteError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("eventsource: delete message %s: %v", e.MessageID, e.Err)
	}
	return fmt.Sprintf("eventsource: delete message %s: %s: %s", e.MessageID, e.Code, e.Reason)
}

// Unwrap gives the error of the request, if there was one.
func (e *DeleteError) Unwrap() error { return e.Err }

// ReceiveError means that the queue cannot be received from.
type ReceiveError struct {
	// Queue is the URL.
	Queue string
	Err   error
}

func (e *ReceiveError) Error() string {
	return fmt.Sprintf("eventsource: receive from %s: %v", e.Queue, e.Err)
}

// Unwrap gives the error of the request.
func (e *ReceiveError) Unwrap() error { return e.Err }
