package crashtest

import (
	"testing"

	"github.com/lambda-once/once/internal/check"
)

func TestOtherPayloadKeepsTheKey(t *testing.T) {
	for event, want := range map[string]string{
		`{"id": "run-a", "from": "alice-run-a", "currency": "EUR", "amount": 30}`:          `{"id": "run-a", "from": "alice-run-a", "currency": "EUR", "amount": 130}`,
		`{"id": "run-a", "cents": [0, -5, 1.5]}`:                                           `{"id": "run-a", "cents": [10, 15, 11.5]}`,
		`{"id": "run-a", "2 \"to\"" : "a \"1\""}`:                                          `{"id": "run-a", "2 \"to\"" : "a \"1\"x"}`,
		`{"time": 1, "{path": "/a", "no": "{", "body": "{\"id\":\"run-a\",\"to\":\"<\"}"}`: `{"time": 1, "{path": "/a", "no": "{", "body": "{\"id\":\"run-a\",\"to\":\"\u003cx\"}"}`,
		`{"id": "run-a"}`: ``,
		`"run-a"`:         ``,
		`no JSON`:         ``,
	} {
		check.Equal(t, otherPayload(event, "run-a"), want, event)
	}
}
