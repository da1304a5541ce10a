package crashtest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/storetest"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/lambdaruntime"
)

func answer(payload string) lambdaruntime.Response {
	return lambdaruntime.Response{Payload: []byte(payload)}
}

func failure(kind, message string) lambdaruntime.Response {
	return lambdaruntime.Response{FunctionError: &lambdaruntime.FunctionError{Type: kind, Message: message}}
}

func TestTriggerRetriesWhatIsNotHandled(t *testing.T) {
	for text, want := range map[string]bool{
		`"sold"`:                    true,
		`null`:                      true,
		`{"statusCode": "pending"}`: true, // a form of the function's own
		`{"statusCode": 201}`:       true,
		`{"statusCode": 404}`:       true,
		`{"statusCode": 409}`:       false, // in progress
		`{"statusCode": 425}`:       false,
		`{"statusCode": 429}`:       false,
		`{"statusCode": 503}`:       false,
		`{"batchItemFailures": []}`: true,
		`{"batchItemFailures": [{"itemIdentifier": "m-1"}]}`: false,
	} {
		check.Equal(t, final(answer(text)), want)
	}
	for kind, want := range map[string]bool{
		"SoldOutError": false, "InProgressError": false, "StoreError": false,
		"ReplayedError": true, "OutcomeUnknownError": true, "KeyReusedError": true, "KeyExpiredError": true, "KeyForgottenError": true, // as in a Trial
	} {
		check.Equal(t, final(failure(kind, "")), want)
	}
}

func TestDuplicateReceivesTheSameAnswer(t *testing.T) {
	for _, c := range []struct {
		first, later lambdaruntime.Response
		same         bool
	}{
		{answer(`"a"`), answer(`"a"`), true},
		{answer(`"a"`), answer(`"b"`), false},
		{answer(`{"statusCode":201,"body":"x"}`), answer(`{"statusCode":201,"body":"x","headers":{"Idempotent-Replayed":"true"}}`), true},
		{answer(`{"statusCode":201,"body":"x"}`), answer(`{"statusCode":201,"body":"y"}`), false},
		{answer(`{"statusCode":201,"body":"x"}`), answer(`{"statusCode":200,"body":"x"}`), false},
		{failure("SoldOutError", "1"), failure("SoldOutError", "2"), true},
		{failure("SoldOutError", ""), failure("ClosedError", ""), false},
		{failure("SoldOutError", ""), answer(`"a"`), false},
	} {
		check.Equal(t, same(c.first, c.later) == nil, c.same, c.first.Payload, c.later.Payload)
	}
}

func TestPathsAreComparedByTheirShape(t *testing.T) {
	for operation, want := range map[string]string{
		"PutItem":                        "PutItem",
		"POST /v1/tills/ab7/charges/s-1": "POST /v1/tills/…/charges/…",
		"GET /a/abcdefghijklmnop/b":      "GET /a/…/b",
	} {
		check.Equal(t, withoutNames(operation), want)
	}
}

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

// A process that does not crash has a store like any other.
func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Harness {
		b := newBubble(nil, Trial{})
		return storetest.Harness{
			Store: &store{newProcess(b)},
			Plant: func(t *testing.T, r driver.Record) {
				check.Must(t, b.records.Put(r))
			},
			Depth: 3, Schedules: 500,
		}
	})
}

func TestRunThatHangsIsNoticed(t *testing.T) {
	noticed := make(chan struct{})
	watch(time.Millisecond, func() { close(noticed) }, func() { <-noticed })
	watch(time.Hour, func() { t.Error("a run that ended was noticed") }, func() {})
}
