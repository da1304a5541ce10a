package infra

import (
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/template"
)

// everyQueue makes each queue that this package makes, and a topic for alarms.
func everyQueue(t *testing.T, ephemeral bool) template.Template {
	t.Helper()
	stack := newStack()
	f := newFunction(t, stack, func(p *IdempotentFunctionProps) {
		longRecords(p)
		p.Table = NewIdempotencyTable(stack, "Records", &IdempotencyTableProps{Ephemeral: ephemeral})
	})
	f.AddQueue("Orders", nil)
	f.AddQueue("Shipments", &QueueProps{FIFO: true})
	f.AddStream("Clicks", awskinesis.NewStream(stack, jsii.String("Stream"), nil), nil)
	sources()["EventBridge"](f)
	relay := newRelay(t, stack, func(p *RelayProps) { p.Outbox = NewOutbox(stack, "Messages", &OutboxProps{Ephemeral: ephemeral}) })
	NewAlarms(stack, "Alarms", &AlarmsProps{
		Functions: []*IdempotentFunction{f}, Notify: []awssns.ITopic{NewAlarmTopic(stack, "OnCall", &AlarmTopicProps{TopicName: "on-call"})}, Relays: []*Relay{relay},
	})
	return synth(t, stack)
}

func TestQueuesAndTopicsRefuseRequestsWithoutTLS(t *testing.T) {
	deployed := everyQueue(t, false)
	if n := len(deployed.Resources("AWS::SQS::Queue")); n != 7 {
		t.Errorf("%d queues", n)
	}
	if name := only(t, deployed, "AWS::SNS::Topic").Properties()["TopicName"]; name != "on-call" {
		t.Errorf("the topic has the name %v", name)
	}
	for _, problem := range deployed.Problems(template.TLS, template.Actions{}) {
		t.Error(problem)
	}
}

// A queue with what failed for good stays when its stack goes, and when its
// construct is renamed, which for CloudFormation is to delete it.
func TestDeadLettersOutliveTheirStackAndARename(t *testing.T) {
	deployed := everyQueue(t, false)
	for _, problem := range deployed.Problems(template.Kept, template.Actions{}) {
		t.Error(problem)
	}
	retained := 0
	for id, queue := range deployed.Resources("AWS::SQS::Queue") {
		last := strings.HasSuffix(id, "DeadLetters") || strings.HasSuffix(id, "Failures")
		if last != (queue["DeletionPolicy"] == "Retain") {
			t.Errorf("%s: its fate is %v", id, queue["DeletionPolicy"])
		}
		if last {
			retained++
		}
	}
	if retained != 5 {
		t.Errorf("%d queues are retained", retained)
	}
}

func TestDeadLettersOfAnEphemeralStageGoWithIt(t *testing.T) {
	for id, r := range everyQueue(t, true).Resources("AWS::SQS::Queue", "AWS::SQS::QueuePolicy") {
		if r["DeletionPolicy"] == "Retain" {
			t.Errorf("%s stays", id)
		}
	}
}

// A topic with a policy takes from CloudWatch what it says, and CDK's EnforceSSL
// alone makes one that allows nothing.
func TestAlarmTopicTakesAlarms(t *testing.T) {
	stack := newStack()
	silent := awssns.NewTopic(stack, jsii.String("Silent"), &awssns.TopicProps{EnforceSSL: jsii.Bool(true)})
	NewAlarms(stack, "Alarms", &AlarmsProps{Notify: []awssns.ITopic{silent}, Operations: []string{"pay"}})
	if len(synth(t, stack).Problems(template.TLS, template.Actions{})) == 0 {
		t.Error("nobody notices a topic that takes no alarms")
	}
	stack = newStack()
	NewAlarms(stack, "Alarms", &AlarmsProps{Notify: []awssns.ITopic{NewAlarmTopic(stack, "OnCall", nil)}, Operations: []string{"pay"}})
	for _, problem := range synth(t, stack).Problems(template.TLS, template.Actions{}) {
		t.Error(problem)
	}
	wantRefusal(t, `id: "OnCall" is already in use in S`, func() { NewAlarmTopic(stack, "OnCall", nil) })
}
