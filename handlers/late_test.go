package handlers_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// sentBefore makes messages those of a queue that has kept them for so long.
func sentBefore(age time.Duration, messages ...events.SQSMessage) batch {
	for i := range messages {
		attributes := map[string]string{"SentTimestamp": strconv.FormatInt(time.Now().Add(-age).UnixMilli(), 10)}
		if group, ok := messages[i].Attributes["MessageGroupId"]; ok {
			attributes["MessageGroupId"] = group
		}
		messages[i].Attributes = attributes
	}
	return messages
}

// tooOld is an age behind the default retention.
const tooOld = 25 * time.Hour

// arrivedLate is a stream whose records have waited behind the retention.
func arrivedLate(t testing.TB, partitions string, orders ...order) events.KinesisEvent {
	event := kinesisEvent(t, partitions, orders...)
	for i := range event.Records {
		event.Records[i].Kinesis.ApproximateArrivalTimestamp.Time = time.Now().Add(-tooOld)
	}
	return event
}

func refusing(observer idempotent.Observer, ahead int) *idempotent.Config {
	return &idempotent.Config{RefuseLate: true, Observer: observer, Ahead: ahead}
}

// Nobody can tell a late repetition from a first delivery that came late. So none of them
// runs, and none is acknowledged.
func TestFirstDeliveriesBehindTheRetentionAreNotLost(t *testing.T) {
	const size = 1000
	messages, ids := orders(size)
	reported := make([]string, size)
	for i, m := range sentBefore(tooOld, messages...) {
		reported[i] = m.MessageId
	}
	placing := make([]order, size)
	for i, id := range ids {
		placing[i] = order{ID: id}
	}
	for _, ahead := range []int{-1, 0} {
		for _, concurrency := range []int{1, 10} {
			s, seen, failed := &shop{}, &observed{}, &received{}
			x := newExecutor(t, memory.New(0), refusing(seen, ahead))
			queue := handlers.SQS(x, nil, place[events.SQSMessage](s), &handlers.SQSOptions{OnFailure: failed.Receive, Concurrency: concurrency, Poison: noPoison[events.SQSMessage](t)})
			reports(t, t.Context(), queue, messages, strings.Join(reported, " "), ahead, concurrency)
			check.Equal(t, seen.count(idempotent.OutcomeExpired), size, ahead, concurrency)
			check.Equal(t, len(failed.Failed), size)
			allAre(t, failed, idempotent.ErrKeyExpired)

			stream := handlers.Kinesis(x, nil, place[events.KinesisEventRecord](s), &handlers.KinesisOptions{OnFailure: quiet, Concurrency: concurrency, Late: handlers.ReportLate[events.KinesisEventRecord], Poison: noPoison[events.KinesisEventRecord](t)})
			continuesFrom(t, t.Context(), stream, arrivedLate(t, strings.Repeat("abcdefghij", size/10), placing...), "seq0", ahead, concurrency)

			topic := handlers.SNS(x, nil, place[events.SNSEventRecord](s), &handlers.EventOptions{OnFailure: quiet, Concurrency: concurrency})
			_, err := deliver(t.Context(), topic, []byte(strings.ReplaceAll(string(snsEvent(t, placing...)), "0001-01-01", agedDay)))
			check.Equal(t, len(check.As[*handlers.BatchError](t, err).Failed), size)
			s.check(t, nil)
		}
	}
}

// lateOption is an option Late without the record.
type lateOption = func(ctx context.Context, err *idempotent.KeyExpiredError) error

// lateSources deliver one record that is refused to each source with an option Late. They
// return its failure, or nil if it was acknowledged.
var lateSources = map[string]func(t *testing.T, late lateOption) error{
	"SQS": func(t *testing.T, late lateOption) error {
		m, failed := withAttribute(message("m0", order{ID: "o0"}), "root:a"), &received{}
		handler := handlers.SQS(newExecutor(t, memory.New(0), refusing(nil, 0)), nil, refuse[handlers.SQSMessage[order]], &handlers.SQSOptions{
			OnFailure: failed.Receive, Poison: noPoison[events.SQSMessage](t),
			Late: func(ctx context.Context, m events.SQSMessage, err *idempotent.KeyExpiredError) error {
				check.Equal(t, m.MessageId, "m0")
				return late(ctx, err)
			},
		})
		return failureOf(t, handler, sqsEvent(t, sentBefore(tooOld, m)...), failed)
	},
	"Kinesis": func(t *testing.T, late lateOption) error {
		o, failed := streamOptions(t, late, func(r events.KinesisEventRecord) string { return r.Kinesis.SequenceNumber }, "seq0")
		handler := handlers.Kinesis(newExecutor(t, memory.New(0), refusing(nil, 0)), nil, refuse[handlers.KinesisRecord[order]], o)
		return failureOf(t, handler, marshal(t, arrivedLate(t, "a", order{ID: "o0"})), failed)
	},
	"DynamoDBStream": func(t *testing.T, late lateOption) error {
		o, failed := streamOptions(t, late, func(r events.DynamoDBEventRecord) string { return r.Change.SequenceNumber }, "seq0")
		handler := handlers.DynamoDBStream(newExecutor(t, memory.New(0), refusing(nil, 0)), nil, refuse[events.DynamoDBEventRecord], o)
		var event events.DynamoDBEvent
		check.Must(t, json.Unmarshal(aged(t, "dynamodb-stream.json"), &event))
		event.Records = event.Records[:1]
		event.Records[0].Change.SequenceNumber = "seq0"
		return failureOf(t, handler, marshal(t, event), failed)
	},
	"Kafka": func(t *testing.T, late lateOption) error {
		o, failed := streamOptions(t, late, func(r events.KafkaRecord) string { return strconv.FormatInt(r.Offset, 10) }, "7")
		handler := handlers.Kafka(newExecutor(t, memory.New(0), refusing(nil, 0)), nil, refuse[handlers.KafkaRecord[order]], o)
		r := kafkaRecord(0, 7, `{"id":"o0"}`)
		r.TimestampType, r.Timestamp.Time = "LOG_APPEND_TIME", agedOuter
		r.Headers = []map[string]events.JSONNumberBytes{{handlers.ChainAttribute: []byte("root:a")}}
		return failureOf(t, handler, marshal(t, kafkaEvent(map[string][]events.KafkaRecord{"orders-0": {r}})), failed)
	},
}

func streamOptions[E any](t *testing.T, late lateOption, id func(E) string, want string) (*handlers.StreamOptions[E], *received) {
	failed := &received{}
	return &handlers.StreamOptions[E]{
		OnFailure: failed.Receive, Poison: noPoison[E](t),
		Late: func(ctx context.Context, r E, err *idempotent.KeyExpiredError) error {
			check.Equal(t, id(r), want)
			return late(ctx, err)
		},
	}, failed
}

// failureOf delivers an event of one record, and returns its failure.
func failureOf(t *testing.T, handler any, event []byte, failed *received) error {
	t.Helper()
	answer, err := deliver(t.Context(), handler, event)
	check.Must(t, err)
	if len(failed.Failed) == 0 {
		check.Equal(t, answer, streamAnswer(""))
		return nil
	}
	check.Equal(t, len(failed.Failed), 1)
	check.Contains(t, answer, "itemIdentifier")
	check.Equal(t, failed.Failed[0].Event.Outcome, idempotent.OutcomeExpired)
	return failed.Failed[0].Err
}

// Only what Late has stored elsewhere is acknowledged.
func TestLateAcknowledgesOnlyWithoutAnError(t *testing.T) {
	refuse := errors.New("the other queue is not there")
	for name, source := range lateSources {
		calls := 0
		take := func(result func(err *idempotent.KeyExpiredError) error) error {
			return source(t, func(_ context.Context, err *idempotent.KeyExpiredError) error {
				calls++
				check.True(t, err.Age > 24*time.Hour, name)
				return result(err)
			})
		}
		check.Nil(t, take(func(*idempotent.KeyExpiredError) error { return nil }), name)

		failed := check.As[*handlers.OptionError](t, take(func(*idempotent.KeyExpiredError) error { return refuse }), name)
		check.Equal(t, failed.Option, "Late", name)
		check.Equal(t, failed.Err, refuse, name)
		check.Is(t, failed.Record, idempotent.ErrKeyExpired, name)

		failed = check.As[*handlers.OptionError](t, take(func(*idempotent.KeyExpiredError) error { panic("no queue") }), name)
		check.Equal(t, failed.Option, "Late", name)
		check.As[*handlers.PanicError](t, failed.Err, name)
		check.Is(t, failed.Record, idempotent.ErrKeyExpired, name)

		plain := take(func(err *idempotent.KeyExpiredError) error { return handlers.ReportLate(t.Context(), order{}, err) })
		if _, ok := plain.(*idempotent.KeyExpiredError); !ok {
			t.Errorf("%s: ReportLate reports a %T", name, plain)
		}
		check.Equal(t, calls, 4, name)
	}
}

// The calls of Late belong to the record, as those of the other options do.
func TestLateContinuesTheChainOfTheRecord(t *testing.T) {
	for _, name := range []string{"SQS", "Kafka"} {
		audit := newExecutor(t, memory.New(0), nil)
		check.Nil(t, lateSources[name](t, func(ctx context.Context, _ *idempotent.KeyExpiredError) error {
			_, err := idempotent.Do(ctx, audit, idempotent.Key{ID: "note"}, func(ctx context.Context) (struct{}, error) {
				check.Contains(t, idempotent.ChainKey(ctx, "mail"), "root:a:", name)
				return struct{}{}, nil
			})
			return err
		}), name)
	}
}

// The error of a call within the handler is the handler's: the record itself has run.
func TestLateReceivesNoErrorOfAHandler(t *testing.T) {
	failed := &received{}
	handler := handlers.SQS(newExecutor(t, memory.New(0), refusing(nil, 0)), nil, func(context.Context, handlers.SQSMessage[order]) error {
		return &idempotent.KeyExpiredError{RecordID: "of another call"}
	}, &handlers.SQSOptions{OnFailure: failed.Receive, Late: func(context.Context, events.SQSMessage, *idempotent.KeyExpiredError) error {
		t.Error("Late is called")
		return nil
	}})
	reports(t, t.Context(), handler, sentBefore(time.Hour, message("m0", order{ID: "o0"})), "m0")
	allAre(t, failed, idempotent.ErrKeyExpired)
}

// Each of two messages with one key is judged by its own time.
func TestDuplicatesInABatchAreJudgedByTheirOwnTimes(t *testing.T) {
	late := sentBefore(tooOld, message("m0", order{ID: "o0"}))
	soon := sentBefore(time.Hour, message("m1", order{ID: "o0"}))
	for _, concurrency := range []int{1, 10} {
		s := &shop{}
		handler := handlers.SQS(newExecutor(t, memory.New(0), refusing(nil, 0)), orderID, place[events.SQSMessage](s), &handlers.SQSOptions{OnFailure: quiet, Concurrency: concurrency})
		reports(t, t.Context(), handler, append(late, soon...), "m0", concurrency)
		s.check(t, map[string]int{"o0": 1})
		reports(t, t.Context(), handler, append(late, soon...), "", concurrency)
		s.check(t, map[string]int{"o0": 1})
	}
}

func TestLateMessageStopsItsGroup(t *testing.T) {
	stored := func(context.Context, events.SQSMessage, *idempotent.KeyExpiredError) error { return nil }
	for name, c := range map[string]struct {
		late     func(context.Context, events.SQSMessage, *idempotent.KeyExpiredError) error
		reported string
		runs     map[string]int
	}{
		"by default":    {nil, "m0 m2", map[string]int{"o1": 1}},
		"ReportLate":    {handlers.ReportLate[events.SQSMessage], "m0 m2", map[string]int{"o1": 1}},
		"unless stored": {stored, "", map[string]int{"o1": 1, "o2": 1}},
	} {
		for _, ahead := range []int{-1, 0} {
			s := &shop{}
			messages := inGroups(batch{message("m0", order{ID: "o0"}), message("m1", order{ID: "o1"}), message("m2", order{ID: "o2"})}, "a", "b")
			sentBefore(time.Hour, messages...)
			sentBefore(tooOld, messages[:1]...)
			handler := handlers.SQS(newExecutor(t, memory.New(0), refusing(nil, ahead)), nil, place[events.SQSMessage](s), &handlers.SQSOptions{OnFailure: quiet, Late: c.late})
			reports(t, t.Context(), handler, messages, c.reported, name, ahead)
			s.check(t, c.runs)
		}
	}
}

// A refused record would block its shard or partition. A queue has its dead-letter queue.
func TestStreamsNeedAWayOutForLateRecords(t *testing.T) {
	x, s := newExecutor(t, memory.New(0), refusing(nil, 0)), &shop{}
	handlertest.CheckMistakes(t, func() { handlers.Kinesis(x, nil, place[events.KinesisEventRecord](s), nil) }, "kinesis: Config.RefuseLate without the option Late")
	handlertest.CheckMistakes(t, func() {
		handlers.DynamoDBStream(x, nil, nil, &handlers.DynamoDBStreamOptions{Concurrency: -1})
	}, "the handler is nil", "Concurrency is -1", "dynamodb stream: Config.RefuseLate without the option Late")
	handlertest.CheckMistakes(t, func() { handlers.Kafka(x, nil, place[events.KafkaRecord](s), &handlers.KafkaOptions{}) }, "kafka: Config.RefuseLate without the option Late")
	handlertest.CheckMistakes(t, func() { handlers.Kafka[order](nil, nil, place[events.KafkaRecord](s), nil) }, "the executor is nil")

	handlers.SQS(x, nil, place[events.SQSMessage](s), nil)
	handlers.SNS(x, nil, place[events.SNSEventRecord](s), nil)
	t.Setenv("ONCE_DISABLED", "1")
	handlers.Kinesis(newExecutor(t, memory.New(0), refusing(nil, 0)), nil, place[events.KinesisEventRecord](s), nil)
}
