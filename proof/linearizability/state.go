package linearizability

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// state is one record in the model. It is comparable, so that the
// checker recognizes a state that it has visited.
type state struct {
	Status      driver.Status `json:",omitzero"`
	Owner       string        `json:",omitzero"`
	Attempt     int64         `json:",omitzero"`
	Refunds     int64         `json:",omitzero"`
	Lease       time.Time     `json:",omitzero"` // in whole milliseconds
	Expires     time.Time     `json:",omitzero"` // in whole seconds
	Began       time.Time     `json:",omitzero"` // in whole milliseconds
	Ended       string        `json:",omitzero"`
	Request     string        `json:",omitzero"`
	Steps       string        `json:",omitzero"`
	Fingerprint string        `json:",omitzero"`
	Data        string        `json:",omitzero"`
	Payload     string        `json:",omitzero"`
	Unavailable string        `json:",omitzero"`

	// Over is set by the last operation of a history.
	Over bool `json:"-"`
}

// stateOf returns the state of a record as a store returned it. Fields that a
// record must not have in its status are kept: the model then disagrees.
func stateOf(r driver.Record) state {
	return state{
		Status: r.Status, Owner: r.Owner, Attempt: r.Attempt, Refunds: r.Refunds,
		Lease: r.Lease.UTC().Truncate(time.Millisecond), Expires: r.Expires.UTC().Truncate(time.Second),
		Began: r.Began.UTC().Truncate(time.Millisecond), Ended: r.Ended.Encode(), Request: string(r.Request),
		Steps: digest(r.Steps), Fingerprint: r.Fingerprint,
		Data: string(r.Data), Payload: r.Payload, Unavailable: r.Unavailable,
	}
}

// digest is the whole content of steps in a comparable form: JSON with sorted
// names. No steps and an empty set of them are the same to callers.
func digest(steps map[string][]byte) string {
	if len(steps) == 0 {
		return ""
	}
	text, err := json.Marshal(steps)
	if err != nil {
		panic(err) // a map of strings to bytes
	}
	return string(text)
}

func addSteps(old string, more map[string][]byte) string {
	steps := make(map[string][]byte)
	if old != "" {
		if err := json.Unmarshal([]byte(old), &steps); err != nil {
			panic(err) // written by digest
		}
	}
	maps.Copy(steps, more)
	return digest(steps)
}

// String describes the state in the visualization of a history.
func (s state) String() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings, numbers and times
	}
	return string(text)
}
