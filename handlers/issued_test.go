package handlers_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// The times of aged events: of the records themselves, and of texts, which are mostly
// the events inside them.
const agedDay = "2020-09-01"

var (
	agedOuter = time.Unix(1600000000, 0) // 2020-09-13
	agedInner = time.Date(2020, time.September, 1, 8, 0, 0, 0, time.UTC)
)

// aged returns a golden event whose records, and the events inside them, were made years
// ago.
func aged(t testing.TB, file string) []byte {
	event := bytes.ReplaceAll(golden(t, file), []byte("1763700000"), []byte("1600000000"))
	event = bytes.ReplaceAll(event, []byte("1600000000.123"), []byte("1600000000.5")) // a float64 has it exactly
	return bytes.ReplaceAll(event, []byte("2026-11-21"), []byte(agedDay))
}

// A keyMaker returns the key of each record, or is nil for the source's own.
type keyMaker func() idempotent.Key

func keysOf[D any](of keyMaker) func(D) (idempotent.Key, error) {
	if of == nil {
		return nil
	}
	return func(D) (idempotent.Key, error) { return of(), nil }
}

// madeAt says for every source and every envelope when the first record of an event was
// made. A zero time is unknown: why says the reason.
var madeAt = map[string]struct {
	event   string
	made    time.Time
	why     string
	handler func(x *idempotent.Executor, key keyMaker, failed *received) any
}{
	"SQS": {event: "sqs.json", made: agedOuter, handler: func(x *idempotent.Executor, key keyMaker, failed *received) any {
		return handlers.SQS(x, keysOf[handlers.SQSMessage[order]](key), refuse, &handlers.SQSOptions{OnFailure: failed.Receive})
	}},
	"Kinesis": {event: "kinesis.json", made: agedOuter.Add(500 * time.Millisecond), handler: func(x *idempotent.Executor, key keyMaker, failed *received) any {
		return handlers.Kinesis(x, keysOf[handlers.KinesisRecord[order]](key), refuse, &handlers.KinesisOptions{OnFailure: failed.Receive, Late: handlers.ReportLate[events.KinesisEventRecord]})
	}},
	"DynamoDBStream": {event: "dynamodb-stream.json", made: agedOuter, handler: func(x *idempotent.Executor, key keyMaker, failed *received) any {
		return handlers.DynamoDBStream(x, keysOf[events.DynamoDBEventRecord](key), refuse, &handlers.DynamoDBStreamOptions{OnFailure: failed.Receive, Late: handlers.ReportLate[events.DynamoDBEventRecord]})
	}},
	"Kafka": {event: "kafka-msk.json", why: "the timestamps of this topic are the producers'", handler: onKafka},
	"SNS": {event: "sns.json", made: agedInner, handler: func(x *idempotent.Executor, key keyMaker, failed *received) any {
		return handlers.SNS(x, keysOf[handlers.SNSMessage[order]](key), refuse, &handlers.EventOptions{OnFailure: failed.Receive})
	}},
	"EventBridge": {event: "eventbridge.json", made: agedInner, handler: func(x *idempotent.Executor, key keyMaker, failed *received) any {
		return handlers.EventBridge(x, keysOf[handlers.EventBridgeEvent[order]](key), refuse, &handlers.EventOptions{OnFailure: failed.Receive})
	}},
	"S3": {event: "s3.json", made: agedInner, handler: func(x *idempotent.Executor, key keyMaker, failed *received) any {
		return handlers.S3(x, keysOf[events.S3EventRecord](key), refuse, &handlers.EventOptions{OnFailure: failed.Receive})
	}},
	"ActiveMQ": {event: "activemq.json", made: agedOuter.Add(time.Millisecond), handler: func(x *idempotent.Executor, key keyMaker, failed *received) any {
		return handlers.ActiveMQ(x, keysOf[handlers.ActiveMQMessage[order]](key), refuse, &handlers.EventOptions{OnFailure: failed.Receive})
	}},
	"RabbitMQ": {event: "rabbitmq.json", why: "the broker does not say when a message arrived, and the property timestamp is the producer's", handler: func(x *idempotent.Executor, key keyMaker, failed *received) any {
		of := handlers.RabbitMQMessageID[order]()
		if key != nil {
			of = keysOf[handlers.RabbitMQMessage[order]](key)
		}
		return handlers.RabbitMQ(x, of, refuse, &handlers.EventOptions{OnFailure: failed.Receive})
	}},
	"FromSNS":         {event: "sqs-from-sns.json", made: agedInner, handler: onQueueOf[handlers.FromSNS[order]]},
	"FromEventBridge": {event: "sqs-from-eventbridge.json", made: agedInner, handler: onQueueOf[handlers.FromEventBridge[order]]},
	// Its key is of both records.
	"FromS3": {event: "sqs-from-s3.json", made: agedInner.Add(time.Second), handler: onQueueOf[handlers.FromS3]},
}

func onKafka(x *idempotent.Executor, key keyMaker, failed *received) any {
	return handlers.Kafka(x, keysOf[handlers.KafkaRecord[order]](key), refuse, &handlers.KafkaOptions{OnFailure: failed.Receive, Late: handlers.ReportLate[events.KafkaRecord]})
}

func onQueueOf[T any](x *idempotent.Executor, key keyMaker, failed *received) any {
	return handlers.SQS(x, keysOf[handlers.SQSMessage[T]](key), refuse, &handlers.SQSOptions{OnFailure: failed.Receive})
}

// noSources are exported functions with an executor that are no source of records.
var noSources = []string{
	"Invoke",  // its events are the user's own types, and so are their times
	"Resumed", // its records are there
}

// Whoever adds a source or an envelope says when its keys are made.
func TestEverySourceSaysWhenItsKeysAreMade(t *testing.T) {
	names := slices.Clone(noSources)
	paths, err := filepath.Glob("*.go")
	check.Must(t, err)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		check.Must(t, err)
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			switch {
			case !ok:
			case f.Recv == nil && f.Name.IsExported() && takesExecutor(f):
				if !slices.Contains(noSources, f.Name.Name) {
					names = append(names, f.Name.Name)
				}
			case f.Recv != nil && f.Name.Name == "message":
				names = append(names, receiverOf(f))
			}
		}
	}
	slices.Sort(names)
	check.Slice(t, slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(madeAt)), noSources...))), names)
	for name, source := range madeAt {
		check.Equal(t, source.made.IsZero(), source.why != "", name)
	}
}

func takesExecutor(f *ast.FuncDecl) bool {
	for _, p := range f.Type.Params.List {
		if pointer, ok := p.Type.(*ast.StarExpr); ok {
			if selected, ok := pointer.X.(*ast.SelectorExpr); ok && selected.Sel.Name == "Executor" {
				return true
			}
		}
	}
	return false
}

func receiverOf(f *ast.FuncDecl) string {
	of := f.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	return of.(*ast.Ident).Name
}

// isIssued delivers an event whose first record is refused as made at that time, or runs
// if the time is zero.
func isIssued(t *testing.T, handler any, event []byte, failed *received, made time.Time, about ...any) {
	t.Helper()
	_, _ = deliver(t.Context(), handler, event) // some sources report an error
	if len(failed.Failed) == 0 {
		t.Fatal("nothing failed", about)
	}
	if made.IsZero() {
		check.Is(t, failed.Failed[0], errOutOfStock, about...)
		return
	}
	check.Time(t, check.As[*idempotent.KeyExpiredError](t, failed.Failed[0], about...).Issued, made, about...)
}

// The key of a key function has the time of its record, unless the function sets one.
func TestKeysAreIssuedWhenTheirRecordsWereMade(t *testing.T) {
	own := agedInner.Add(-time.Hour)
	for name, source := range madeAt {
		for about, c := range map[string]struct {
			key  keyMaker
			made time.Time
		}{
			"the default key":             {nil, source.made},
			"a key function":              {func() idempotent.Key { return idempotent.Key{ID: "k"} }, source.made},
			"a key function with a time":  {func() idempotent.Key { return idempotent.Key{ID: "k", Issued: own} }, own},
			"a key function for new work": {func() idempotent.Key { return idempotent.Key{ID: "k", Issued: time.Now()} }, time.Time{}},
		} {
			failed := &received{}
			handler := source.handler(newExecutor(t, memory.New(0), &idempotent.Config{RefuseLate: true}), c.key, failed)
			isIssued(t, handler, aged(t, source.event), failed, c.made, name, about)
		}
	}
}

// What happened is the innermost event that has a time. The others are deliveries of it.
func TestKeysAreIssuedWhenTheInnermostEventWasMade(t *testing.T) {
	s3 := string(aged(t, "s3.json"))
	notification := func(timestamp, message string) []byte {
		text := marshal(t, map[string]any{"Type": "Notification", "MessageId": "n", "Message": message, "Timestamp": timestamp})
		m := bodied("m", string(text))
		m.Attributes = map[string]string{"SentTimestamp": "1600000000000"}
		return sqsEvent(t, m)
	}
	kinesis := kinesisEvent(t, "a", order{})
	kinesis.Records[0].Kinesis.Data = aged(t, "eventbridge.json")
	kinesis.Records[0].Kinesis.ApproximateArrivalTimestamp.Time = agedOuter
	unaware := bytes.ReplaceAll(aged(t, "sqs-from-eventbridge.json"), []byte(agedDay), []byte("0001-01-01"))
	unaware = bytes.ReplaceAll(unaware, []byte("T08:00:00Z"), []byte("T00:00:00Z"))
	for name, c := range map[string]struct {
		event   []byte
		made    time.Time
		handler func(x *idempotent.Executor, key keyMaker, failed *received) any
	}{
		"S3 in SNS in SQS":                {notification("2020-09-05T00:00:00Z", s3), agedInner.Add(time.Second), onQueueOf[handlers.FromSNS[handlers.FromS3]]},
		"SNS in SQS, by a pointer":        {aged(t, "sqs-from-sns.json"), agedInner, onQueueOf[*handlers.FromSNS[order]]},
		"an event without a time in SQS":  {unaware, agedOuter, onQueueOf[handlers.FromEventBridge[order]]},
		"a topic that appends timestamps": {bytes.ReplaceAll(aged(t, "kafka-msk.json"), []byte("CREATE_TIME"), []byte("LOG_APPEND_TIME")), agedOuter, onKafka},
		"EventBridge in Kinesis": {marshal(t, kinesis), agedInner, func(x *idempotent.Executor, key keyMaker, failed *received) any {
			return handlers.Kinesis(x, keysOf[handlers.KinesisRecord[handlers.FromEventBridge[order]]](key), refuse, &handlers.KinesisOptions{OnFailure: failed.Receive, Late: handlers.ReportLate[events.KinesisEventRecord]})
		}},
	} {
		failed := &received{}
		isIssued(t, c.handler(newExecutor(t, memory.New(0), &idempotent.Config{RefuseLate: true}), nil, failed), c.event, failed, c.made, name)
	}
}

// An attribute that is no time, and a message of a test without one, say nothing.
func TestMessageWithoutATimeIsNeverLate(t *testing.T) {
	for _, sent := range []string{"", "today", "99999999999999999999"} {
		m, failed := message("m", order{ID: "o"}), &received{}
		m.Attributes = map[string]string{"SentTimestamp": sent}
		handler := onQueueOf[order](newExecutor(t, memory.New(0), &idempotent.Config{RefuseLate: true}), nil, failed)
		isIssued(t, handler, sqsEvent(t, m), failed, time.Time{}, sent)
	}
}
