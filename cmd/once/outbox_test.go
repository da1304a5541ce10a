package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/dynamo/outbox"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// An outboxScene is an outbox with a stream, into which a function writes.
type outboxScene struct {
	*scene
	outbox string
	box    *outbox.Outbox
	relay  func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error)
	sent   []string // ids of messages
	read   map[string]bool
}

func newOutboxScene(t *testing.T) *outboxScene {
	t.Helper()
	s := &outboxScene{scene: newScene(t), outbox: "outbox-" + rand.Text(), read: map[string]bool{}}
	check.Must(t, outbox.CreateTable(t.Context(), s.client, s.outbox))
	box, err := outbox.New(s.client, s.outbox, nil)
	check.Must(t, err)
	s.box = box
	s.relay = relay.Outbox(func(_ context.Context, _ string, all []driver.OutboxMessage) ([]error, error) {
		for _, m := range all {
			s.sent = append(s.sent, m.ID)
		}
		return nil, nil
	}, &relay.Options{Mark: box.MarkAll})
	t.Setenv("OUTBOX_TABLE", s.outbox)
	return s
}

// order publishes two messages of one aggregate, as a function does.
func (s *outboxScene) order(id string) {
	s.Helper()
	records, err := dynamo.New(s.client, s.table, &dynamo.Options{Outbox: s.outbox})
	check.Must(s, err)
	x, err := idempotent.New("order", records, nil)
	check.Must(s, err)
	_, err = idempotent.Do(s.Context(), x, idempotent.Key{ID: id}, func(ctx context.Context) (string, error) {
		for _, to := range []string{"mail", "stock"} {
			dynamo.Collect(ctx).Publish(driver.OutboxMessage{Aggregate: id, Destination: to, Type: "placed", Body: []byte("of Ada")})
		}
		return "", nil
	})
	check.Must(s, err)
}

// published reads what the stream has not returned before, and lets the relay have it.
func (s *outboxScene) published() []string {
	s.Helper()
	table, err := s.client.DescribeTable(s.Context(), &dynamodb.DescribeTableInput{TableName: &s.outbox})
	check.Must(s, err)
	client := dynamodbstreams.New(dynamodbstreams.Options{
		Region: s.client.Options().Region, Credentials: s.client.Options().Credentials, BaseEndpoint: aws.String(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB")),
	})
	stream, err := client.DescribeStream(s.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: table.Table.LatestStreamArn})
	check.Must(s, err)
	var event events.DynamoDBEvent
	for _, shard := range stream.StreamDescription.Shards {
		at, err := client.GetShardIterator(s.Context(), &dynamodbstreams.GetShardIteratorInput{
			StreamArn: table.Table.LatestStreamArn, ShardId: shard.ShardId, ShardIteratorType: streams.ShardIteratorTypeTrimHorizon,
		})
		check.Must(s, err)
		out, err := client.GetRecords(s.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: at.ShardIterator})
		check.Must(s, err)
		for _, r := range out.Records {
			if s.read[*r.EventID] {
				continue
			}
			s.read[*r.EventID] = true
			image := inEvent(&streams.AttributeValueMemberM{Value: r.Dynamodb.NewImage}).Map()
			event.Records = append(event.Records, events.DynamoDBEventRecord{
				EventID: *r.EventID, EventName: string(r.EventName), EventSource: "aws:dynamodb",
				Change: events.DynamoDBStreamRecord{Keys: image, NewImage: image, SequenceNumber: *r.Dynamodb.SequenceNumber},
			})
		}
	}
	s.sent = nil
	if len(event.Records) > 0 {
		answer, err := s.relay(s.Context(), event)
		check.Must(s, err)
		check.Equal(s, len(answer.BatchItemFailures), 0)
	}
	return s.sent
}

// inEvent returns a value as Lambda passes it to a function.
func inEvent(v streams.AttributeValue) events.DynamoDBAttributeValue {
	switch v := v.(type) {
	case *streams.AttributeValueMemberS:
		return events.NewStringAttribute(v.Value)
	case *streams.AttributeValueMemberN:
		return events.NewNumberAttribute(v.Value)
	case *streams.AttributeValueMemberB:
		return events.NewBinaryAttribute(v.Value)
	case *streams.AttributeValueMemberL:
		list := make([]events.DynamoDBAttributeValue, len(v.Value))
		for i, e := range v.Value {
			list[i] = inEvent(e)
		}
		return events.NewListAttribute(list)
	case *streams.AttributeValueMemberM:
		m := map[string]events.DynamoDBAttributeValue{}
		for name, e := range v.Value {
			m[name] = inEvent(e)
		}
		return events.NewMapAttribute(m)
	}
	panic(fmt.Sprintf("%T", v))
}

// The relay that an outage has made give up publishes what the operator finds.
func TestOutboxIsListedAndPublishedAgain(t *testing.T) {
	s := newOutboxScene(t)
	s.order("order-1")
	s.order("order-2")
	check.Equal(t, len(s.published()), 4)
	check.Contains(t, s.ok("outbox", "--older-than", "0s"), "0 items are not marked")
	s.order("order-3")
	s.order("order-4")
	given := s.lost()
	out := s.ok("outbox", "--older-than", "0s")
	for _, want := range []string{"mail: 2 messages, the oldest of ", "stock: 2 messages", "of order-3\n", "2 items are not marked"} {
		check.Contains(t, out, want)
	}
	check.Lacks(t, out+s.ok("outbox", "--older-than", "0s", "--json"), "Ada", "a body is shown")
	check.Contains(t, s.ok("outbox"), "0 items", "the relay may still have them")
	var second pendingMessage
	check.Must(t, json.Unmarshal([]byte(strings.Split(s.ok("outbox", "--older-than", "0s", "--json"), "\n")[1]), &second))
	check.Equal(t, second.Destination, "stock")
	check.Equal(t, second.Bytes, len("of Ada"))
	check.Equal(t, s.typing("n\n", "outbox", "--older-than", "0s", "--publish").code, cli.CodeDeclined)
	check.Equal(t, len(s.published()), 0)
	check.Contains(t, s.run("outbox", "--older-than", "0s", "--publish", "--yes").err, "written for the relay: 2 of 2 items")
	again := s.published()
	slices.Sort(again)
	slices.Sort(given)
	check.Slice(t, slices.Compact(again), slices.Compact(given))
	check.Contains(t, s.ok("outbox", "--older-than", "0s"), "0 items are not marked")
}

// lost drops what is in the stream, and returns the ids of the messages.
func (s *outboxScene) lost() (ids []string) {
	s.Helper()
	before := s.relay
	s.relay = func(_ context.Context, e events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
		for _, r := range e.Records {
			if _, marked := r.Change.NewImage["published"]; !marked {
				for _, m := range r.Change.NewImage["messages"].List() {
					ids = append(ids, m.Map()["id"].String())
				}
			}
		}
		return events.DynamoDBEventResponse{}, nil
	}
	s.published()
	s.relay = before
	return ids
}

// Between the question and the answer, the relay may come.
func TestOutboxLeavesWhatTheRelayHasPublished(t *testing.T) {
	s := newOutboxScene(t)
	s.order("order-1")
	r := s.between([]string{"outbox", "--older-than", "0s", "--publish"}, func() { check.Equal(t, len(s.published()), 2) })
	check.Equal(t, r.code, 0)
	check.Contains(t, r.err, "is left, as the relay has published it meanwhile")
	check.Contains(t, r.err, "written for the relay: 0 of 1 items")
	check.Equal(t, len(s.published()), 0)
}

func TestOutboxNamesItemsOfOtherPrograms(t *testing.T) {
	s := newOutboxScene(t)
	_, err := s.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &s.outbox, Item: map[string]types.AttributeValue{
		"aggregate": text("a"), "id": text("b"), "created": number(time.Now().Add(-time.Hour).UnixMilli()),
	}})
	check.Must(t, err)
	r := s.run("outbox")
	check.Equal(t, r.code, cli.CodeFailed)
	check.Contains(t, r.err, "an item is not one of an outbox")
	check.Contains(t, r.err, "not all items could be read")
	check.Contains(t, s.run("outbox", "--table", "").err, "set --table or OUTBOX_TABLE")
}
