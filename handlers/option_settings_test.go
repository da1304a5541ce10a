package handlers_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// What Poison and Visibility send continues the chain that the record came with.
func TestCallsOfAnOptionBelongToTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		defer elsewhere(t, store, order{ID: "o1"})()
		audit := newExecutor(t, store, nil)
		sent := map[string]string{}
		note := func(ctx context.Context, option string) error {
			_, err := idempotent.Do(ctx, audit, idempotent.Key{ID: "note of " + option}, func(ctx context.Context) (struct{}, error) {
				sent[option] = idempotent.ChainKey(ctx, "mail")
				return struct{}{}, nil
			})
			return err
		}
		queue := handlers.SQS(newExecutor(t, store, nil), orderID, place[events.SQSMessage](&shop{}), &handlers.SQSOptions{
			OnFailure:  quiet,
			Visibility: func(ctx context.Context, _ events.SQSMessage, _ time.Duration) error { return note(ctx, "Visibility") },
		})
		_, err := deliver(t.Context(), queue, sqsEvent(t, withAttribute(message("m0", order{ID: "o1"}), "root:a")))
		check.Nil(t, err)
		topic := handlers.Kafka(newExecutor(t, store, nil), nil, func(context.Context, handlers.KafkaRecord[order]) error {
			return idempotent.Permanent(errors.New("declined"))
		}, &handlers.KafkaOptions{
			OnFailure: quiet,
			Poison:    func(ctx context.Context, _ events.KafkaRecord, _ error) error { return note(ctx, "Poison") },
		})
		r := kafkaRecord(0, 1, `{"id":"o2"}`)
		r.Headers = []map[string]events.JSONNumberBytes{{handlers.ChainAttribute: []byte("root:b")}}
		_, err = deliver(t.Context(), topic, marshal(t, kafkaEvent(map[string][]events.KafkaRecord{"orders-0": {r}})))
		check.Nil(t, err)
		for option, chain := range map[string]string{"Visibility": "root:a:", "Poison": "root:b:"} {
			check.True(t, strings.HasPrefix(sent[option], chain))
		}
	})
}
