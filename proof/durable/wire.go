package durable

import (
	"encoding/json"
	"time"
)

// The kinds of operations, and their states.
const (
	typeExecution = "EXECUTION"
	typeStep      = "STEP"
	typeWait      = "WAIT"

	started   = "STARTED"
	pending   = "PENDING"
	succeeded = "SUCCEEDED"
	failed    = "FAILED"
)

// request is the payload that the service sends to a function.
type request struct {
	CheckpointToken       string
	DurableExecutionArn   string
	InitialExecutionState state
}

type state struct {
	NextMarker string // always empty: there is one page
	Operations []*operation
}

// operation is one entry in the log of an execution.
type operation struct {
	Id               string
	Name             string `json:",omitempty"`
	Type             string
	StartTimestamp   timestamp
	Status           string
	ExecutionDetails *executionDetails `json:",omitempty"`
	ContextDetails   *result           `json:",omitempty"`
	StepDetails      *stepDetails      `json:",omitempty"`
	WaitDetails      *waitDetails      `json:",omitempty"`
}

type executionDetails struct{ InputPayload string }

type result struct {
	Result string       `json:",omitempty"`
	Error  *errorObject `json:",omitempty"`
}

type stepDetails struct {
	Attempt              int
	NextAttemptTimestamp timestamp `json:",omitzero"`
	result
}

type waitDetails struct{ ScheduledEndTimestamp timestamp }

type errorObject struct{ ErrorType, ErrorMessage string }

// response is the answer of a function.
type response struct {
	Status string
	Result *string      `json:",omitempty"`
	Error  *errorObject `json:",omitempty"`
}

// timestamp is a time as the service sends it.
type timestamp struct{ time.Time }

func (t timestamp) MarshalJSON() ([]byte, error) { return json.Marshal(t.UnixMilli()) }

func (t *timestamp) UnmarshalJSON(text []byte) error {
	var n int64
	err := json.Unmarshal(text, &n)
	t.Time = time.UnixMilli(n)
	return err
}

// due returns when the service resumes an operation, if it waits for that.
func (o *operation) due() (time.Time, bool) {
	switch {
	case o.Status == started && o.Type == typeWait:
		return o.WaitDetails.ScheduledEndTimestamp.Time, true
	case o.Status == pending && o.Type == typeStep:
		return o.StepDetails.NextAttemptTimestamp.Time, true
	}
	return time.Time{}, false
}
