package linearizability

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// state is what the model knows of one record. It is comparable, so that the
// checker recognizes a state that it has visited.
type state struct {
	Status      driver.Status
	Owner       string
	Attempt     int64
	Refunds     int64
	Lease       int64 // Unix milliseconds, or none
	Expires     int64 // Unix seconds, or none
	Steps       string
	Fingerprint string
	Data        string
	Payload     string
	Unavailable string

	// Over is set by the last operation of a history; see [effective].
	Over bool
}

// none is an absent time. A released record has the lease 0.
const none = -1

var absent = state{Lease: none, Expires: none}

// stateOf returns the state of a record as a store returned it. Fields that a
// record must not have in its status are kept: the model then disagrees.
func stateOf(r driver.Record) state {
	s := state{
		Status: r.Status, Owner: r.Owner, Attempt: r.Attempt, Refunds: r.Refunds,
		Lease: none, Expires: none, Steps: digest(r.Steps), Fingerprint: r.Fingerprint,
		Data: string(r.Data), Payload: r.Payload, Unavailable: r.Unavailable,
	}
	if !r.Lease.IsZero() {
		s.Lease = r.Lease.UnixMilli()
	}
	if !r.Expires.IsZero() {
		s.Expires = r.Expires.Unix()
	}
	return s
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
	if s.Status == driver.Absent {
		return "absent"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s owner=%q attempt=%d", s.Status, s.Owner, s.Attempt)
	if s.Refunds > 0 {
		fmt.Fprintf(&b, " refunds=%d", s.Refunds)
	}
	if s.Lease != none {
		fmt.Fprintf(&b, " lease=%s", instant(s.Lease))
	}
	if s.Expires != none {
		fmt.Fprintf(&b, " expires=%s", instant(s.Expires*1000))
	}
	for name, value := range map[string]string{"steps": s.Steps, "data": s.Data, "payload": s.Payload, "unavailable": s.Unavailable} {
		if value != "" {
			fmt.Fprintf(&b, " %s=%s", name, value)
		}
	}
	return b.String()
}

func instant(milli int64) string {
	if milli == 0 {
		return "ended"
	}
	return time.UnixMilli(milli).UTC().Format("15:04:05.000")
}
