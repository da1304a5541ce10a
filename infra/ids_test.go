package infra

import (
	"fmt"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"
)

// CDK panics at the second construct with an id, in words of its own.
func TestIDsThatAreTakenAreRefused(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, longRecords)
	outbox := NewOutbox(stack, "Outbox", nil)
	streams := 0
	for name, construct := range map[string]func(id string){
		"table":     func(id string) { NewIdempotencyTable(stack, id, nil) },
		"outbox":    func(id string) { NewOutbox(stack, id, nil) },
		"alarms":    func(id string) { NewAlarms(stack, id, &AlarmsProps{Operations: []string{"pay"}}) },
		"dashboard": func(id string) { NewDashboard(stack, id, &DashboardProps{Operations: []string{"pay"}}) },
		"function":  func(id string) { NewIdempotentFunction(stack, id, &f.props) },
		"relay": func(id string) {
			NewRelay(stack, id, &RelayProps{Code: f.props.Code, Outbox: outbox})
		},
		"API":   func(id string) { f.AddHTTPAPI(id, &HTTPAPIProps{Public: true, Routes: []string{"POST /"}}) },
		"queue": func(id string) { f.AddQueue(id, nil) },
		"stream": func(id string) {
			streams++
			f.AddStream(id, awskinesis.NewStream(stack, jsii.String(fmt.Sprint("Stream", streams)), nil), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			wantRefusal(t, "id: it is empty", func() { construct("") })
			wantRefusal(t, "", func() { construct(name) })
			wantRefusal(t, "id: another construct in S", func() { construct(name) })
		})
	}
	wantRefusal(t, `id: another construct in S/Function has "Logs"`, func() { f.AddQueue("Logs", nil) })
	f.AddStream("Async", awskinesis.NewStream(stack, jsii.String("Stream"), nil), nil)
	wantRefusal(t, `has "AsyncFailures"`, func() { f.AddTopic(awssns.NewTopic(stack, jsii.String("Topic"), nil)) })
}

// A source that is missing, or there twice, panics in the words of jsii or CDK.
func TestSourcesThatCannotFeedAreRefused(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, longRecords)
	topic, stream := awssns.NewTopic(stack, jsii.String("Topic"), nil), awskinesis.NewStream(stack, jsii.String("Stream"), nil)
	wantRefusal(t, "", func() { f.AddTopic(topic) })
	wantRefusal(t, "topic: S/Topic feeds this function already", func() { f.AddTopic(topic) })
	wantRefusal(t, "", func() { f.AddStream("First", stream, nil) })
	wantRefusal(t, "stream: S/Stream feeds this function already", func() { f.AddStream("Second", stream, nil) })
	wantRefusal(t, "topic: it is required", func() { f.AddTopic(nil) })
	wantRefusal(t, "rule: it is required", func() { f.AddRule(nil) })
	wantRefusal(t, "bucket: it is required", func() { f.AddBucket(nil) })
	wantRefusal(t, "stream: it is required", func() { f.AddStream("None", nil, nil) })
	wantRefusal(t, "table: it is required", func() { f.AddTableStream("None", nil, nil) })
}
