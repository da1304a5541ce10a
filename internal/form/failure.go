package form

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// A Failure is the stored form of a permanent error: the Data of a failed
// record.
type Failure struct {
	Type        string   `json:"type"`
	Message     string   `json:"message"`
	Code        string   `json:"code,omitempty"`
	Compensated []string `json:"compensated,omitempty"` // the undone steps, in that order
}

// The limits of a failure's texts, in bytes.
const (
	MaxFailureMessage = 4 << 10
	MaxFailureName    = 256 // of a type or a code
)

// A SagaFailure is stored before the first step is undone. From then on the
// call has failed for good, whichever attempt continues it.
type SagaFailure struct {
	Failure
	Steps []string `json:"steps"` // to undo, in that order
}

// Encode returns the stored bytes of f, with its texts cut to their limits.
func (f Failure) Encode() ([]byte, error) {
	f.Type, f.Code = Truncate(f.Type, MaxFailureName), Truncate(f.Code, MaxFailureName)
	f.Message = Truncate(f.Message, MaxFailureMessage)
	return json.Marshal(f)
}

// Shorten cuts the texts of a failure note for which a record has no room.
func (f *SagaFailure) Shorten(limit int) {
	f.Message, f.Code = Truncate(f.Message, limit), Truncate(f.Code, limit)
	f.Type = Truncate(f.Type, 64)
}

// Truncate returns the beginning of s, valid UTF-8 of at most limit bytes.
func Truncate(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
