package infra

import (
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"

	"github.com/lambda-once/once/infra/internal/check"
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
	for _, name := range []string{"SQS", "Kinesis", "EventBridge"} {
		sources()[name].add(f)
	}
	f.AddQueue("Shipments", &QueueProps{FIFO: true})
	relay := newRelay(t, stack, func(p *RelayProps) { p.Outbox = NewOutbox(stack, "Messages", &OutboxProps{Ephemeral: ephemeral}) })
	NewAlarms(stack, "Alarms", &AlarmsProps{
		Functions: []*IdempotentFunction{f}, Notify: []awssns.ITopic{NewAlarmTopic(stack, "OnCall", nil)}, Relays: []*Relay{relay},
	})
	return synth(t, stack)
}

// CloudFormation deletes a queue whose construct is renamed. The queues of failed
// messages are retained then, and when their stack is deleted.
func TestDeadLettersOutliveTheirStackAndARename(t *testing.T) {
	deployed := everyQueue(t, false)
	for id, policy := range deployed.Resources("AWS::SQS::QueuePolicy") {
		last := strings.Contains(id, "DeadLetters") || strings.Contains(id, "Failures")
		check.Equal(t, policy["DeletionPolicy"] == "Retain", last, id)
		check.Contains(t, policy, "aws:SecureTransport:false", id)
	}
	fates := map[any]int{}
	for id, queue := range deployed.Resources("AWS::SQS::Queue") {
		last := strings.HasSuffix(id, "DeadLetters") || strings.HasSuffix(id, "Failures")
		check.Equal(t, queue["DeletionPolicy"] == "Retain", last, id)
		fates[last]++
	}
	check.Equal(t, fates, map[any]int{true: 5, false: 2})
}

func TestNothingOfAnEphemeralStageIsRetained(t *testing.T) {
	deployed := everyQueue(t, true)
	for id, r := range deployed.Resources("AWS::SQS::Queue", "AWS::SQS::QueuePolicy", "AWS::Logs::LogGroup") {
		check.Equal(t, r["DeletionPolicy"] == "Retain", false, id)
	}
	for _, id := range []string{"Records", "Messages"} {
		wantFate(t, deployed.Resources()[id], "Delete")
	}
}

// The policy that CDK makes for EnforceSSL allows no alarm to publish.
func TestAlarmTopicTakesAlarms(t *testing.T) {
	stack := newStack()
	NewAlarmTopic(stack, "OnCall", nil)
	policy := text(t, only(t, synth(t, stack), "AWS::SNS::TopicPolicy"))
	check.Contains(t, policy, `"Action":"sns:Publish","Condition":{"StringEquals":{"aws:SourceAccount":"111122223333"}},"Effect":"Allow","Principal":{"Service":"cloudwatch.amazonaws.com"}`)
	check.Contains(t, policy, `"Condition":{"Bool":{"aws:SecureTransport":"false"}},"Effect":"Deny"`)
	wantRefusal(t, `id: "OnCall" is already in use in S`, func() { NewAlarmTopic(stack, "OnCall", nil) })
}
