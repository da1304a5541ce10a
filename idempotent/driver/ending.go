package driver

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/lambda-once/once/internal/form"
)

// An Ending tells a person how and when a record was finished, without its result. No
// call decides by it. Its zero value is absent: the record is in progress, or an earlier
// version or another library has finished it.
type Ending struct {
	// At is when the record was finished, by the clock of who did, in whole milliseconds.
	// The zero time is absent.
	At time.Time
	// Type and Code name the error of a failed record: the names that the code of the
	// function gives it, and never its text.
	Type, Code string
	// By names the operator who has finished the record or redacted it, and Reason says why.
	// Operators state both themselves, so they prove nothing.
	By, Reason string
}

// The limits of an Ending's texts, in bytes. Longer ones are cut.
const (
	MaxEndingName   = form.MaxFailureName // of Type, Code and By
	MaxEndingReason = 512
)

type storedEnding struct {
	At     int64  `json:"at,omitempty"` // Unix milliseconds
	Type   string `json:"type,omitempty"`
	Code   string `json:"code,omitempty"`
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Cut returns e as a [Record] contains it: its time in whole milliseconds, and its texts cut
// to their limits.
func (e Ending) Cut() Ending {
	e.At = WholeMillis(e.At)
	e.Type, e.Code, e.By = form.Truncate(e.Type, MaxEndingName), form.Truncate(e.Code, MaxEndingName), form.Truncate(e.By, MaxEndingName)
	e.Reason = form.Truncate(e.Reason, MaxEndingReason)
	return e
}

// Encode returns e as every store keeps it, as JSON, or "" if it is absent.
func (e Ending) Encode() string {
	if e == (Ending{}) {
		return ""
	}
	if e == (Ending{At: e.At}) { // that of each call that succeeds, for a tenth of the time
		text := append(make([]byte, 0, 32), atPrefix...) // in one allocation
		return string(append(strconv.AppendInt(text, e.At.UnixMilli(), 10), atSuffix...))
	}
	e = e.Cut()
	s := storedEnding{Type: e.Type, Code: e.Code, By: e.By, Reason: e.Reason}
	if !e.At.IsZero() {
		s.At = e.At.UnixMilli()
	}
	text, err := json.Marshal(s)
	if err != nil {
		return "" // a struct of texts and a number has no error
	}
	return string(text)
}

// DecodeEnding returns the Ending that Encode has encoded. For any other text it returns the
// absent Ending: nothing depends on it, so no call should fail because of it.
func DecodeEnding(text string) Ending {
	if text == "" {
		return Ending{}
	}
	// Every replay reads one, and most have a time alone.
	if millis, ok := strings.CutPrefix(text, atPrefix); ok {
		if n, err := strconv.ParseInt(strings.TrimSuffix(millis, atSuffix), 10, 64); err == nil {
			return Ending{At: time.UnixMilli(n)}
		}
	}
	var s storedEnding
	if json.Unmarshal([]byte(text), &s) != nil {
		return Ending{}
	}
	e := Ending{Type: s.Type, Code: s.Code, By: s.By, Reason: s.Reason}
	if s.At != 0 {
		e.At = time.UnixMilli(s.At)
	}
	return e
}

// An Ending with a time alone is the time between these two.
const (
	atPrefix = `{"at":`
	atSuffix = `}`
)
