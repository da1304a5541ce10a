package durable

import (
	"encoding/json"
	"time"
)

// The kinds of operations, and their states.
const (
	typeExecution = "EXECUTION"
	typeContext   = "CONTEXT"
	typeStep      = "STEP"
	typeWait      = "WAIT"

	started   = "STARTED"
	pending   = "PENDING"
	succeeded = "SUCCEEDED"
	failed    = "FAILED"
)

// request is what the service sends to a function.
type request struct {
	CheckpointToken       string
	DurableExecutionArn   string
	InitialExecutionState state
}

type state struct {
	NextMarker string
	Operations []*operation
}

// operation is one entry in the log of an execution.
type operation struct {
	Id               string
	Name             string `json:",omitempty"`
	Type             string
	StartTimestamp   milliseconds
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
	NextAttemptTimestamp milliseconds `json:",omitzero"`
	result
}

type waitDetails struct{ ScheduledEndTimestamp milliseconds }

type errorObject struct{ ErrorType, ErrorMessage string }

// response is what a function answers.
type response struct {
	Status string
	Result *string      `json:",omitempty"`
	Error  *errorObject `json:",omitempty"`
}

// milliseconds is a time as the service sends it.
type milliseconds struct{ time.Time }

func (m milliseconds) MarshalJSON() ([]byte, error) { return json.Marshal(m.UnixMilli()) }

func (m *milliseconds) UnmarshalJSON(text []byte) error {
	var n int64
	err := json.Unmarshal(text, &n)
	m.Time = time.UnixMilli(n)
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
