package handlers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

func withAttribute(m events.SQSMessage, chain string) events.SQSMessage {
	m.MessageAttributes = map[string]events.SQSMessageAttribute{handlers.ChainAttribute: {DataType: "String", StringValue: &chain}}
	return m
}

func notification(id, chain, message string) events.SNSEntity {
	n := events.SNSEntity{Type: "Notification", MessageID: id, TopicArn: "arn:aws:sns:eu-central-1:123456789012:orders", Message: message}
	if chain != "" {
		n.MessageAttributes = map[string]any{handlers.ChainAttribute: map[string]any{"Type": "String", "Value": chain}}
	}
	return n
}

type queueHandler = func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// queueOf runs with the chain key of each message.
func queueOf[T any](x *idempotent.Executor, run func(context.Context, string) error) any {
	return handlers.SQS(x, nil, func(ctx context.Context, m handlers.SQSMessage[T]) error { return run(ctx, m.Chain) }, &handlers.SQSOptions{Concurrency: 2})
}

// The same key comes out of every form in which a message arrives, and whoever
// gets it twice runs once: with the same record, whatever the message id.
func TestChainKeyIsTheKey(t *testing.T) {
	const chain, body = "0123456789abcdef0123456789abcdef:reserve", `{"id":"o0"}`
	detail := `{"id":"o0","once_key":"` + chain + `"}`
	envelope := func(id, chain, message string) string { return string(marshal(t, notification(id, chain, message))) }
	bus := func(id, detail string) string {
		return string(marshal(t, events.EventBridgeEvent{ID: id, DetailType: "Reserved", Detail: json.RawMessage(detail)}))
	}
	kafka := func(offset int64, headers ...map[string]events.JSONNumberBytes) []byte {
		r := kafkaRecord(0, offset, body)
		r.Headers = headers
		return marshal(t, kafkaEvent(map[string][]events.KafkaRecord{"orders-0": {r}}))
	}
	header := map[string]events.JSONNumberBytes{handlers.ChainAttribute: []byte(chain)}
	for name, test := range map[string]struct {
		handler func(*idempotent.Executor, func(context.Context, string) error) any
		events  [][]byte
	}{
		"SQS": {queueOf[order],
			[][]byte{sqsEvent(t, withAttribute(bodied("m0", body), chain)), sqsEvent(t, withAttribute(bodied("m1", `{ "id": "o0" }`), chain))}},
		"two in one batch": {queueOf[order],
			[][]byte{sqsEvent(t, withAttribute(bodied("m0", body), chain), withAttribute(bodied("m1", body), chain))}},
		"SNS in SQS, and raw": {
			func(x *idempotent.Executor, run func(context.Context, string) error) any {
				wrapped, raw := queueOf[handlers.FromSNS[order]](x, run), queueOf[order](x, run)
				return func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
					if strings.Contains(e.Records[0].Body, "TopicArn") {
						return wrapped.(queueHandler)(ctx, e)
					}
					return raw.(queueHandler)(ctx, e)
				}
			},
			[][]byte{sqsEvent(t, bodied("m0", envelope("n0", chain, body))), sqsEvent(t, bodied("m1", envelope("n1", chain, body))), sqsEvent(t, withAttribute(bodied("m2", body), chain))},
		},
		"EventBridge in SQS": {queueOf[handlers.FromEventBridge[order]],
			[][]byte{sqsEvent(t, bodied("m0", bus("e0", detail))), sqsEvent(t, bodied("m1", bus("e1", detail)))}},
		"EventBridge in SNS in SQS": {queueOf[*handlers.FromSNS[handlers.FromEventBridge[order]]],
			[][]byte{sqsEvent(t, bodied("m0", envelope("n0", "", bus("e0", detail)))), sqsEvent(t, bodied("m1", envelope("n1", "", bus("e1", detail))))}},
		"SNS": {
			func(x *idempotent.Executor, run func(context.Context, string) error) any {
				return handlers.SNS(x, nil, func(ctx context.Context, m handlers.SNSMessage[order]) error { return run(ctx, m.Chain) }, nil)
			},
			[][]byte{
				marshal(t, events.SNSEvent{Records: []events.SNSEventRecord{{SNS: notification("n0", chain, body)}}}),
				marshal(t, events.SNSEvent{Records: []events.SNSEventRecord{{SNS: notification("n1", chain, body)}}}),
			},
		},
		"EventBridge": {
			func(x *idempotent.Executor, run func(context.Context, string) error) any {
				return handlers.EventBridge(x, nil, func(ctx context.Context, m handlers.EventBridgeEvent[order]) error { return run(ctx, m.Chain) }, nil)
			},
			[][]byte{[]byte(bus("e0", detail)), []byte(bus("e1", detail))},
		},
		"Kafka": {
			func(x *idempotent.Executor, run func(context.Context, string) error) any {
				return handlers.Kafka(x, nil, func(ctx context.Context, m handlers.KafkaRecord[order]) error { return run(ctx, m.Chain) }, nil)
			},
			[][]byte{kafka(1, header), kafka(2, header)},
		},
		"ActiveMQ": {
			func(x *idempotent.Executor, run func(context.Context, string) error) any {
				return handlers.ActiveMQ(x, nil, func(ctx context.Context, m handlers.ActiveMQMessage[order]) error { return run(ctx, m.Chain) }, nil)
			},
			[][]byte{
				[]byte(`{"eventSourceArn":"arn","messages":[{"messageID":"ID:1","data":"eyJpZCI6Im8wIn0=","properties":{"once_key":"` + chain + `"}}]}`),
				[]byte(`{"eventSourceArn":"arn","messages":[{"messageID":"ID:2","data":"eyJpZCI6Im8wIn0=","properties":{"once_key":"` + chain + `"}}]}`),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			handler := test.handler(newExecutor(t, memory.New(0), nil), func(ctx context.Context, got string) error {
				runs++
				check.Equal(t, got, chain)
				check.Equal(t, handlers.ChainAttributes(ctx, "next")[handlers.ChainAttribute], chain+":create-payment#next")
				return nil
			})
			for _, event := range test.events {
				answer, err := deliver(t.Context(), handler, event)
				check.Nil(t, err)
				check.Lacks(t, answer, "itemIdentifier")
			}
			check.Equal(t, runs, 1)
		})
	}
}

// The user's key function decides, and the chain continues.
func TestKeyFunctionReplacesTheChainKey(t *testing.T) {
	runs := 0
	byBody := func(m handlers.SQSMessage[order]) (idempotent.Key, error) {
		if m.Chain == "" {
			return idempotent.Key{}, errors.New("no chain key")
		}
		return idempotent.Key{ID: m.Body.ID}, nil
	}
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), byBody, func(ctx context.Context, m handlers.SQSMessage[order]) error {
		runs++
		check.True(t, strings.HasPrefix(idempotent.ChainKey(ctx, "next"), m.Chain+":"))
		return nil
	}, nil)
	for i, chain := range []string{"root:first", "root:second"} {
		for _, id := range []string{"o0", fmt.Sprint("o", i+1)} {
			reports(t, t.Context(), handler, batch{withAttribute(message(fmt.Sprint("m", i, id), order{ID: id}), chain)}, "")
		}
	}
	check.Equal(t, runs, 3)
}

// One name for two messages is a mistake that has to show: the second is not
// acknowledged as if it were the first.
func TestOneChainKeyWithTwoBodiesIsRefused(t *testing.T) {
	failures, s := &received{}, &shop{}
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, place[events.SQSMessage](s), &handlers.SQSOptions{OnFailure: failures.Receive})
	reports(t, t.Context(), handler, batch{withAttribute(message("m0", order{ID: "o0"}), "root:item"), withAttribute(message("m1", order{ID: "o1"}), "root:item")}, "m1")
	allAre(t, failures, idempotent.ErrKeyReused)
	s.check(t, map[string]int{"o0": 1})
}

// Whoever sends on what it has got gives it another key, as it has another
// effect.
func TestOutermostChainKeyIsTheKey(t *testing.T) {
	var got []string
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(_ context.Context, m handlers.SQSMessage[handlers.FromSNS[order]]) error {
		got = append(got, m.Chain)
		return nil
	}, nil)
	for i, chain := range []string{"root:a", "root:b"} {
		m := bodied(fmt.Sprint("m", i), string(marshal(t, notification("n0", "root", `{"id":"o0"}`))))
		reports(t, t.Context(), handler, batch{withAttribute(m, chain)}, "")
	}
	check.Slice(t, got, []string{"root:a", "root:b"})
}

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
		m := bodied("m", strings.Replace(event, `{`, `{"detail-type":"Placed",`, 1))
		reports(t, t.Context(), queue, batch{m}, "m", event)
	}
	check.Says(t, failures.Failed[len(failures.Failed)-1], "once_key")
}
