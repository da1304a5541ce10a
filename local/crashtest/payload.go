package crashtest

import (
	"encoding/json"
	"regexp"
	"strings"
)

// token is a number, a text, or the name of a member with its colon.
var token = regexp.MustCompile(`"(?:[^"\\]|\\.)*"(?:\s*:)?|-?[0-9][^\s,\]}]*`)

// otherPayload returns an event with the same key and another payload, or "" if there is
// none: see Function.AnyPayload.
func otherPayload(event, run string) string {
	for _, change := range []func(token string) string{
		func(t string) string { // a body in an envelope
			var body string
			if strings.HasPrefix(t, `"{`) && json.Unmarshal([]byte(t), &body) == nil {
				other := otherPayload(body, run)
				if quoted, err := json.Marshal(other); err == nil && other != "" {
					return string(quoted)
				}
			}
			return t
		},
		func(t string) string {
			if strings.HasPrefix(t, `"`) {
				return t
			}
			return "1" + strings.TrimPrefix(t, "-")
		},
		func(t string) string {
			text, ok := strings.CutSuffix(t, `"`)
			if !ok || strings.Contains(text, run) {
				return t
			}
			return text + `x"`
		},
	} {
		if other := token.ReplaceAllStringFunc(event, change); other != event {
			return other
		}
	}
	return ""
}
