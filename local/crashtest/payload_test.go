package crashtest

import (
	"testing"

	"github.com/lambda-once/once/internal/check"
)

func TestOtherPayloadKeepsTheKey(t *testing.T) {
	for event, want := range map[string]string{
		`{"id": "run-a", "from": "alice-run-a", "currency": "EUR", "amount": 30}`: `{"amount":130,"currency":"EUR","from":"alice-run-a","id":"run-a"}`,
		`{"id": "run-a", "cents": [0, -5, 1.5]}`:                                  `{"cents":[10,5,11.5],"id":"run-a"}`,
		`{"id": "run-a", "to": "Ada"}`:                                            `{"id":"run-a","to":"Adax"}`,
		`{"time": 1, "path": "/a", "body": "{\"id\":\"run-a\",\"to\":\"Ada\"}"}`:  `{"body":"{\"id\":\"run-a\",\"to\":\"Adax\"}","path":"/a","time":1}`,
		`{"id": "run-a"}`: ``,
		`"run-a"`:         ``,
		`no JSON`:         ``,
	} {
		check.Equal(t, string(otherPayload([]byte(event), "run-a")), want, event)
	}
}
