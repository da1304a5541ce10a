package handlers_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
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
		check.Equal(t, string(got), want, detail)
		check.Equal(t, errors.Is(err, handlers.ErrDetail), want == "", detail)
	}
	_, err := handlers.DetailWithChain([]byte(`{}`), "")
	check.Failed(t, err, "no key")
}

// An invalid member is not the same as no member.
func TestEventWithAnInvalidChainKeyFails(t *testing.T) {
	failures := &received{}
	x := newExecutor(t, memory.New(0), nil)
	for _, event := range []string{`{"id":"e0","detail":{"id":"o0","once_key":7}}`, `{"id":"e1","detail":{"once_key":""}}`} {
		bridge := handlers.EventBridge(x, nil, place[events.EventBridgeEvent](&shop{}), &handlers.EventOptions{OnFailure: failures.Receive})
		_, err := deliver(t.Context(), bridge, []byte(event))
		check.Is(t, err, handlers.ErrDecode, event)
		check.Says(t, err, "once_key", event)
		queue := handlers.SQS(x, nil, func(context.Context, handlers.SQSMessage[handlers.FromEventBridge[order]]) error { return nil }, &handlers.SQSOptions{OnFailure: failures.Receive})
		m := message("m", order{})
		m.Body = strings.Replace(event, `{`, `{"detail-type":"Placed",`, 1)
		reports(t, t.Context(), queue, batch{m}, "m", event)
	}
	check.Says(t, failures.Failed[len(failures.Failed)-1], "once_key")
}
