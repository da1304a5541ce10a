package crashtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/lambda-once/once/local/lambdaruntime"
)

// shape is the part of a payload from which a trigger learns whether the event
// is handled.
type shape struct {
	StatusCode int               `json:"statusCode"`
	Body       string            `json:"body"`
	Failures   []json.RawMessage `json:"batchItemFailures"`
}

// shapeOf returns the zero shape for a payload of any other form.
func shapeOf(payload []byte) (s shape) {
	if err := json.Unmarshal(payload, &s); err != nil {
		return shape{}
	}
	return s
}

// final is the default of Function.Final: that of Trial.Final, by the name under which
// Lambda reports an error.
func final(r lambdaruntime.Response) bool {
	if r.FunctionError != nil {
		switch r.FunctionError.Type {
		case "ReplayedError", "OutcomeUnknownError", "KeyReusedError", "KeyExpiredError", "KeyForgottenError":
			return true
		}
		return false
	}
	s := shapeOf(r.Payload)
	switch s.StatusCode {
	case http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return s.StatusCode < http.StatusInternalServerError && len(s.Failures) == 0
}

// same compares the final answer with that of a duplicate. The headers of an HTTP
// response may differ: one of them marks a replay.
func same(first, later lambdaruntime.Response) error {
	a, b := shapeOf(first.Payload), shapeOf(later.Payload)
	switch {
	case summary(first) != summary(later):
		return fmt.Errorf("first answered %s, and a duplicate %s; if answers may differ, set AnswersVary", summary(first), summary(later))
	case first.FunctionError != nil:
		return nil // of one type; the text may name the attempt
	case a.StatusCode != 0 && a.Body == b.Body:
		return nil
	case !bytes.Equal(first.Payload, later.Payload):
		return fmt.Errorf("first answered %.200s, and a duplicate %.200s; if answers may differ, set AnswersVary", first.Payload, later.Payload)
	}
	return nil
}

// summary is the answer in the report.
func summary(r lambdaruntime.Response) string {
	if r.FunctionError != nil {
		return r.FunctionError.Type
	}
	if status := shapeOf(r.Payload).StatusCode; status != 0 {
		return fmt.Sprint("HTTP ", status)
	}
	return "ok"
}
