package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/moto"
	"github.com/lambda-once/once/internal/wire"
)

// A deadLetters scene is a queue with its dead-letter queue, in moto, and a function that keeps
// its records in one of the stores.
type deadLetters struct {
	*storeScene
	sqs      *sqs.Client
	orders   *string // URLs
	dead     *string
	carry    atomic.Value // a wire.Carry, of requests to SQS
	ran      []string     // orders for which the function ran, in order
	fails    error
	attempts int // Config.MaxAttempts
}

// onQueues runs a test on these stores.
func onQueues(t *testing.T, suffix string, names []string, test func(*deadLetters)) {
	moto.Start(t)
	t.Setenv("AWS_REGION", "eu-central-1")
	for _, name := range names {
		t.Run(name, func(t *testing.T) { test(newDeadLetters(stores[name](t), suffix)) })
	}
}

var (
	everyStore   = []string{"DynamoDB", "PostgreSQL", "Redis"}
	dynamoDBOnly = everyStore[:1] // where the store makes no difference
)

func newDeadLetters(s *storeScene, suffix string) *deadLetters {
	s.Helper()
	d := &deadLetters{storeScene: s}
	d.serve((*wire.Request).Send)
	proxy, err := wire.HTTP(moto.Start(s.T), func(r *wire.Request) (*wire.Response, error) {
		// One server has no further ones to wait for.
		r.Body = bytes.Replace(r.Body, []byte(`"WaitTimeSeconds":1`), []byte(`"WaitTimeSeconds":0`), 1)
		return d.carry.Load().(wire.Carry)(r)
	})
	check.Must(s, err)
	s.Cleanup(func() { check.Nil(s, proxy.Close()) })
	s.Setenv("AWS_ENDPOINT_URL_SQS", proxy.URL())
	cfg, err := (&store.DynamoDBFlags{}).Load(s.Context(), &store.Waits{Timeout: time.Minute, To: io.Discard})
	check.Must(s, err)
	d.sqs = sqs.NewFromConfig(cfg)
	d.dead = d.newQueue("dead"+suffix, map[string]string{})
	d.orders = d.newQueue("orders"+suffix, map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:eu-central-1:123456789012:dead` + suffix + `","maxReceiveCount":5}`})
	return d
}

func (d *deadLetters) serve(carry wire.Carry) { d.carry.Store(carry) }

func (d *deadLetters) newQueue(name string, attributes map[string]string) *string {
	d.Helper()
	if strings.HasSuffix(name, ".fifo") {
		attributes["FifoQueue"] = "true"
	}
	made, err := d.sqs.CreateQueue(d.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	check.Must(d, err)
	return made.QueueUrl
}

type redriven struct {
	ID string `json:"orderId"`
}

func (d *deadLetters) key(m handlers.SQSMessage[redriven]) (idempotent.Key, error) {
	return idempotent.Key{ID: m.Body.ID}, nil
}

// send sends an order to the dead-letter queue.
func (d *deadLetters) send(order string, change ...func(*sqs.SendMessageInput)) {
	d.Helper()
	in := &sqs.SendMessageInput{QueueUrl: d.dead, MessageBody: aws.String(`{"orderId":"` + order + `","name":"Ada"}`), MessageAttributes: map[string]sqstypes.MessageAttributeValue{
		"tenant": {DataType: aws.String("String"), StringValue: aws.String("t-1")}, "raw": {DataType: aws.String("Binary.x"), BinaryValue: []byte{0, 1}},
	}}
	for _, c := range change {
		c(in)
	}
	_, err := d.sqs.SendMessage(d.Context(), in)
	check.Must(d, err)
}

// receive returns what is visible in a queue, and leaves it hidden.
func (d *deadLetters) receive(queue *string) (all []sqstypes.Message) {
	d.Helper()
	for {
		out, err := d.sqs.ReceiveMessage(d.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: queue, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"}, MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{"All"},
		})
		check.Must(d, err)
		if len(out.Messages) == 0 {
			return all
		}
		all = append(all, out.Messages...)
	}
}

func orderOf(m sqstypes.Message) string {
	var r redriven
	_ = json.Unmarshal([]byte(*m.Body), &r) // a message without one has no order
	return r.ID
}

func ordersOf(all []sqstypes.Message) (ids []string) {
	for _, m := range all {
		ids = append(ids, orderOf(m))
	}
	slices.Sort(ids)
	return ids
}

// deliver runs the function with a message, and reports whether it is done.
func (d *deadLetters) deliver(m sqstypes.Message) bool {
	d.Helper()
	x, err := idempotent.New("pay", d.records, &idempotent.Config{Retention: 28 * 24 * time.Hour, MaxAttempts: d.attempts, Observer: idempotent.NoObserver{}})
	check.Must(d, err)
	e := events.SQSMessage{MessageId: *m.MessageId, Body: *m.Body, EventSource: "aws:sqs", Attributes: m.Attributes}
	answer, err := handlers.SQS(x, d.key, func(_ context.Context, m handlers.SQSMessage[redriven]) error {
		d.ran = append(d.ran, m.Body.ID)
		return d.fails
	}, &handlers.SQSOptions{OnFailure: func(context.Context, *handlers.RecordError) {}})(d.Context(), events.SQSEvent{Records: []events.SQSMessage{e}})
	check.Must(d, err)
	return len(answer.BatchItemFailures) == 0
}

// had delivers an order as before its message was given up, with this outcome.
func (d *deadLetters) had(order string, attempts int, outcome error) {
	d.Helper()
	d.attempts, d.fails = attempts, outcome
	d.deliver(sqstypes.Message{MessageId: aws.String("m-" + order), Body: aws.String(`{"orderId":"` + order + `"}`)})
	d.attempts, d.fails, d.ran = 0, nil, nil
}

// lapsed is an order whose function was cut off.
func (d *deadLetters) lapsed(order string) {
	d.Helper()
	plant(d.T, d.records, driver.Record{
		ID: d.record(order), Status: driver.InProgress, Owner: "a", Attempt: 1, Lease: time.Now().Add(-time.Hour), Expires: time.Now().Add(24 * time.Hour),
	})
}

// looked are the verdicts of the orders.
func (d *deadLetters) looked(out string) map[string]string {
	d.Helper()
	verdicts := map[string]string{}
	for line := range strings.Lines(out) {
		var m struct{ Verdict, Body string }
		check.Must(d, json.Unmarshal([]byte(line), &m))
		verdicts[orderOf(sqstypes.Message{Body: &m.Body})] = m.Verdict
	}
	return verdicts
}

func (d *deadLetters) redrive(args ...string) []string {
	return d.with(append([]string{"redrive", "dead", "--operation", "pay", "--key", "body.orderId"}, args...)...)
}

// record is the id of an order's record.
func (d *deadLetters) record(order string) string {
	d.Helper()
	id, err := idempotent.Key{ID: order}.RecordID("pay")
	check.Must(d, err)
	return id
}
