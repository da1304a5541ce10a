package tools

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lambda-once/once/idempotent"
)

// An answer is the part for the model: the result of the tool as JSON, or a text with the next
// step.
type answer struct {
	result     json.RawMessage // nil in a refusal
	text       string          // of a refusal
	retryAfter int             // seconds; 0 if a repetition gets the same answer
}

// longestText is the length in bytes of the longest refusal. The record of a permanent
// error stores more, so that the first answer and its replays are cut alike.
const longestText = 2000

// answerOf returns the answer of a call. failed is the error of the tool's last run. The
// text of an error that is not permanent is for the log: it may quote anything.
func answerOf(result json.RawMessage, err error, event *idempotent.Event, failed error) answer {
	switch {
	case err == nil && json.Valid(result):
		return answer{result: result}
	case err == nil:
		return refuse(carriedOut)
	case event.Permanent && (event.Outcome == idempotent.OutcomeFailed || event.Outcome == idempotent.OutcomeBypassed): // otherwise it is not stored
		return refuse(messageOf(err))
	case failed != nil && event.Outcome != idempotent.OutcomeLeaseLost && event.Outcome != idempotent.OutcomeUnknown:
		// The tool may have returned an error of the core, of a call within it.
		return again(1, "The tool failed, and may have done a part of its work. Call it again with the same arguments: what is done is not done twice where the tool can know it.")
	}
	return refusal(err)
}

// carriedOut is the answer if the work is done and its result cannot be returned.
const carriedOut = "The tool has run, and its result is not available. Do not call it again with another idempotency key or other arguments."

func refusal(err error) answer {
	switch e := err.(type) {
	case *idempotent.ReplayedError:
		return refuse(e.Message)
	case *idempotent.MissingKeyError:
		if e.Part == "scope" {
			return refuse("The caller is unknown. The tool has not run.")
		}
		return refuse("This call needs arguments that identify it, or an idempotency key if the tool takes one. The tool has not run. Each new request needs its own ones, and a repetition the same ones.")
	case *idempotent.InvalidKeyError:
		if e.Part != "ID" {
			return refuse("The call cannot be identified. The tool has not run.")
		}
		return refuse("The idempotency key " + e.Reason + ". The tool has not run.")
	case *idempotent.InvalidPayloadError:
		if e.Err != nil {
			return refuse("This call has not run the tool: " + e.Reason + ": " + e.Err.Error())
		}
		return refuse("This call has not run the tool: the arguments cannot be read: " + e.Reason + ".")
	case *idempotent.InProgressError:
		// The other call most likely finishes long before its lease.
		return again(2, "An earlier call of the tool is still running. Call it again with the same arguments to get its result.")
	case *idempotent.LeaseLostError:
		return again(1, "Another call of the tool has taken over. Call it again with the same arguments to get its result.")
	case *idempotent.KeyReusedError:
		return refuse("The tool has not run: the same request was made before with other arguments, and that call stands. To get its result, repeat it with the first arguments. Only for a new request, send the arguments of that request.")
	case *idempotent.KeyExpiredError:
		return refuse("The tool has not run: the idempotency key is too old to know whether the request was carried out. Check, and send a new key if it was not.")
	case *idempotent.OutcomeUnknownError:
		if e.Err != nil {
			return again(1, "It is not known yet whether the tool has done its work. Call it again with the same arguments.")
		}
		return refuse(unknown)
	case *idempotent.KeyForgottenError:
		return refuse(unknown)
	case *idempotent.ResultUnavailableError:
		if e.Failed {
			return refuse("The tool failed permanently, and its message is not available. Do not call it again with another idempotency key or other arguments.")
		}
		return refuse(carriedOut)
	case *idempotent.CompensationError:
		return again(1, "The tool failed, and its work is not undone yet. Call it again with the same arguments.")
	case *idempotent.StoreError, *idempotent.TimedOutError:
		return again(1, "The tool cannot answer now. Call it again with the same arguments.")
	}
	return refuse("The call failed.")
}

const unknown = "It is not known whether the tool has done its work, and it does not run again before a person has looked into it. Do not call it with another idempotency key or other arguments."

// mostBytes is the size of the largest answer: Lambda returns 6 MB, with the envelope.
const mostBytes = 6<<20 - 64<<10

// within encodes the answer for a door, which takes a result of at most this many bytes.
func (a answer) within(limit int, encode func(answer) ([]byte, error)) (json.RawMessage, error) {
	text, err := encode(a)
	if a.result == nil || len(text) <= limit {
		return text, err
	}
	return encode(refuse(fmt.Sprintf("The tool has run, but its result has %d bytes, which is too large to be returned. "+
		"Do not call it again with another idempotency key or other arguments.", len(a.result))))
}

func refuse(text string) answer {
	text = strings.ToValidUTF8(text, "\uFFFD") // as a record stores it
	return answer{text: strings.ToValidUTF8(text[:min(len(text), longestText)], "")}
}

func again(seconds int, text string) answer {
	return answer{text: fmt.Sprintf("%s Wait %d s before that.", text, seconds), retryAfter: seconds}
}

// messageOf returns the text of a permanent error, as its record stores it.
func messageOf(err error) string {
	if public, ok := err.(interface{ FailureMessage() string }); ok {
		return public.FailureMessage()
	}
	return err.Error()
}
