package handlers_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent/memory"
)

func TestDetailWithChain(t *testing.T) {
	for detail, want := range map[string]string{
		`{}`:                              `{"once_key":"k"}`,
		` { "a" : 9007199254740993.10 } `: ` { "a" : 9007199254740993.10 ,"once_key":"k"} `,
		`{"a":{"once_key":"x"},"a":"}"}`:  `{"a":{"once_key":"x"},"a":"}","once_key":"k"}`,
		`{"once_key":"k" }`:               `{"once_key":"k" }`,
		`{"Once_Key":"x"}`:                `{"Once_Key":"x","once_key":"k"}`,
		`{"once_key":"x"}`:                "",
		`{"once\u005fkey":"x"}`:           "",
		`{"once_key":7}`:                  "",
		`{"once_key":"k","once_key":"k"}`: "",
		`[]`:                              "",
		`"text"`:                          "",
		`null`:                            "",
		``:                                "",
		`{"a":1}{}`:                       "",
		`{"a":1`:                          "",
	} {
		got, err := handlers.DetailWithChain([]byte(detail), "k")
		if string(got) != want || (err != nil) != (want == "") || err != nil && !errors.Is(err, handlers.ErrDetail) {
			t.Errorf("%s: %s, %v", detail, got, err)
		}
	}
	if got, err := handlers.DetailWithChain([]byte(`{}`), ""); err == nil {
		t.Errorf("no key: %s", got)
	}
}

// An invalid member is not the same as no member.
func TestEventWithAnInvalidChainKeyFails(t *testing.T) {
	failures := &received{}
	x := newExecutor(t, memory.New(0), nil)
	for _, event := range []string{`{"id":"e0","detail":{"id":"o0","once_key":7}}`, `{"id":"e1","detail":{"once_key":""}}`} {
		bridge := handlers.EventBridge(x, nil, place[events.EventBridgeEvent](&shop{}), &handlers.EventOptions{OnFailure: failures.Receive})
		if _, err := deliver(t.Context(), bridge, []byte(event)); !errors.Is(err, handlers.ErrDecode) || !strings.Contains(err.Error(), "once_key") {
			t.Errorf("%s: %v", event, err)
		}
		queue := handlers.SQS(x, nil, func(context.Context, handlers.SQSMessage[handlers.FromEventBridge[order]]) error { return nil }, &handlers.SQSOptions{OnFailure: failures.Receive})
		m := message("m", order{})
		m.Body = strings.Replace(event, `{`, `{"detail-type":"Placed",`, 1)
		if answer, err := deliver(t.Context(), queue, sqsEvent(t, m)); err != nil || len(reportedIDs(t, answer)) != 1 {
			t.Errorf("%s in a queue: %s, %v", event, answer, err)
		}
	}
	if last := failures.Failed[len(failures.Failed)-1]; !strings.Contains(last.Error(), "once_key") {
		t.Errorf("received %v", last)
	}
}
