package infra

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

// elsewhere is a protected function of a different stack, whose event sources are known
// by their ARNs alone.
func elsewhere(stack awscdk.Stack, watch *WatchProps) *IdempotentFunction {
	f := Protect(stack, "Orders", importedFunction(stack), &ProtectProps{Table: NewIdempotencyTable(stack, "Table", nil), Timeout: time.Minute})
	f.Watch(watch)
	return f
}

func queueElsewhere(stack awscdk.Stack, name string) awssqs.IQueue {
	return awssqs.Queue_FromQueueArn(stack, &name, jsii.String("arn:aws:sqs:eu-west-1:111122223333:"+name))
}

// A function and its sources that are made elsewhere have the alarms and graphs of those
// that are made here.
func TestSourcesElsewhereAreWatched(t *testing.T) {
	stack := newStack()
	api := awsapigatewayv2.HttpApi_FromHttpApiAttributes(stack, jsii.String("API"), &awsapigatewayv2.HttpApiAttributes{HttpApiId: jsii.String("a1b2c3")})
	f := elsewhere(stack, &WatchProps{
		APIs:           []awsapigatewayv2.IHttpApi{api},
		Asynchronous:   true,
		DeadLetters:    []awssqs.IQueue{queueElsewhere(stack, "dead")},
		Failures:       []awssqs.IQueue{queueElsewhere(stack, "failures")},
		QueueRetention: time.Hour,
		Queues:         []awssqs.IQueue{queueElsewhere(stack, "work")},
		StreamMaxAge:   30 * time.Minute,
	})
	all := []*IdempotentFunction{f}
	wantRefusal(t, "QueueAge: nothing waits for 1h0m0s", func() { NewAlarms(stack, "A", &AlarmsProps{Functions: all, QueueAge: time.Hour}) })
	wantRefusal(t, "IteratorAge: nothing waits for 30m0s", func() { NewAlarms(stack, "A", &AlarmsProps{Functions: all, IteratorAge: 30 * time.Minute}) })
	NewAlarms(stack, "Alarms", &AlarmsProps{Functions: all})
	NewDashboard(stack, "Dashboard", &DashboardProps{Functions: all})
	deployed := synth(t, stack)
	wantAlarms(t, deployed, map[string]float64{
		"OrdersErrors": 5, "OrdersThrottles": 5, "OrdersServerErrors": 1, "OrdersUndelivered": 1, "OrdersDeadLetters": 1,
		"OrdersFailures": 1, "OrdersQueueAge": 1800, "OrdersIteratorAge": 900e3, // half of what is declared
	})
	check.Equal(t, deployed.Resources()["AlarmsOrdersDeadLetters"].Properties()["Dimensions"],
		any([]any{map[string]any{"Name": "QueueName", "Value": "dead"}}))
	check.Equal(t, titles(t, deployed), map[string]int{
		"Errors and throttles": 1, "Given up: dead letters and failures": 1, "Age of the oldest message, s": 1, "Behind the stream, ms": 1,
	})
}

// An undeclared retention is not compared.
func TestUndeclaredRetentionIsNotChecked(t *testing.T) {
	stack := newStack()
	f := elsewhere(stack, &WatchProps{Queues: []awssqs.IQueue{queueElsewhere(stack, "work")}})
	NewAlarms(stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}, QueueAge: 30 * day})
	check.Equal(t, synth(t, stack).Resources()["AlarmsOrdersQueueAge"].Properties()["Threshold"], any((30 * day).Seconds()))
}

func TestWatchRefuses(t *testing.T) {
	queue := func(stack awscdk.Stack) []awssqs.IQueue { return []awssqs.IQueue{queueElsewhere(stack, "q"), nil} }
	wantRefusals(t, map[string]func(awscdk.Stack) *WatchProps{
		"Queues: there is nothing to watch": func(awscdk.Stack) *WatchProps { return nil },
		"Queues: one is nil":                func(s awscdk.Stack) *WatchProps { return &WatchProps{Queues: queue(s)} },
		"DeadLetters: one is nil":           func(s awscdk.Stack) *WatchProps { return &WatchProps{DeadLetters: queue(s)} },
		"Failures: one is nil":              func(s awscdk.Stack) *WatchProps { return &WatchProps{Failures: queue(s)} },
		"APIs: one is nil":                  func(awscdk.Stack) *WatchProps { return &WatchProps{APIs: []awsapigatewayv2.IHttpApi{nil}} },
		"QueueRetention: 360h0m0s is not":   func(s awscdk.Stack) *WatchProps { return &WatchProps{Asynchronous: true, QueueRetention: 15 * day} },
		"StreamMaxAge: -1ns is not":         func(awscdk.Stack) *WatchProps { return &WatchProps{Asynchronous: true, StreamMaxAge: -1} },
	}, func(props func(awscdk.Stack) *WatchProps) {
		stack := newStack()
		elsewhere(stack, props(stack))
	})
}

// A record of a stream disappears at its MaxAge, so the alarm rings before, also by
// default.
func TestIteratorAgeIsReached(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, longRecords)
	f.AddStream("Slow", newStream(f), nil)
	f.AddStream("Fast", awskinesis.NewStream(stack, jsii.String("Second"), nil), &StreamProps{MaxAge: 10 * time.Minute})
	r := newRelay(t, stack, func(p *RelayProps) { p.MaxAge = 2 * time.Minute })
	NewAlarms(stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}, Relays: []*Relay{r}})
	alarms := synth(t, stack).Resources(alarmType)
	check.Equal(t, alarms["AlarmsFunctionIteratorAge"].Properties()["Threshold"], any(300e3))
	check.Equal(t, alarms["AlarmsRelayIteratorAge"].Properties()["Threshold"], any(60e3))
	wantRefusal(t, "IteratorAge: nothing waits for 10m0s", func() {
		NewAlarms(stack, "Late", &AlarmsProps{Functions: []*IdempotentFunction{f}, IteratorAge: 10 * time.Minute})
	})
}

// AWS writes the metrics of a function under its own name, also those of calls of an alias
// or a version.
func TestAliasesAndVersionsHaveTheAlarmsOfTheirFunction(t *testing.T) {
	imported := func(s awscdk.Stack) awslambda.IVersion {
		return awslambda.Version_FromVersionAttributes(s, jsii.String("Version"), &awslambda.VersionAttributes{Lambda: importedFunction(s), Version: jsii.String("7")})
	}
	for name, qualified := range map[string]func(awscdk.Stack) awslambda.IFunction{
		"imported alias": func(s awscdk.Stack) awslambda.IFunction {
			return awslambda.Alias_FromAliasAttributes(s, jsii.String("Alias"), &awslambda.AliasAttributes{AliasName: jsii.String("live"), AliasVersion: imported(s)})
		},
		"imported version": func(s awscdk.Stack) awslambda.IFunction { return imported(s) },
		"alias":            func(s awscdk.Stack) awslambda.IFunction { return ownFunction(t, s).AddAlias(jsii.String("live"), nil) },
		"version":          func(s awscdk.Stack) awslambda.IFunction { return ownFunction(t, s).CurrentVersion() },
	} {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			f := Protect(stack, "Orders", qualified(stack), &ProtectProps{
				Operations: []string{"pay"}, Retention: 400 * day, Table: NewIdempotencyTable(stack, "Table", nil), Timeout: 20 * time.Second,
			})
			f.AddStream("Clicks", newStream(f), nil)
			f.AddTopic(newTopic(f))
			NewAlarms(stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}})
			NewDashboard(stack, "Dashboard", &DashboardProps{Functions: []*IdempotentFunction{f}})
			deployed := synth(t, stack)
			obeys(t, deployed, template.Emitted)
			check.Equal(t, len(deployed.Resources(alarmType)) > 15, true)
			board := fmt.Sprint(only(t, deployed, "AWS::CloudWatch::Dashboard").Properties())
			check.Equal(t, strings.Contains(board, "orders:"), false, "the dashboard names the alias or the version")
			check.Equal(t, strings.Contains(board, `"Resource"`), false, "the dashboard has the dimension Resource")
		})
	}
}

// Lambda deletes the messages that a report names if its mapping ignores reports, which is
// the default of CDK.
func TestSourcesWithoutReportsAreRefused(t *testing.T) {
	queue := func(s awscdk.Stack, f awslambda.IFunction, reports *bool) {
		f.AddEventSource(awslambdaeventsources.NewSqsEventSource(awssqs.NewQueue(s, jsii.String("Queue"), nil), &awslambdaeventsources.SqsEventSourceProps{ReportBatchItemFailures: reports}))
	}
	for name, add := range map[string]func(s awscdk.Stack, f awslambda.Function){
		"queue":             func(s awscdk.Stack, f awslambda.Function) { queue(s, f, nil) },
		"queue of an alias": func(s awscdk.Stack, f awslambda.Function) { queue(s, f.AddAlias(jsii.String("live"), nil), nil) },
		"queue of a second stack": func(s awscdk.Stack, f awslambda.Function) {
			second := stackOf(awscdk.Stage_Of(s), "Second")
			awslambda.NewEventSourceMapping(second, jsii.String("Mapping"), &awslambda.EventSourceMappingProps{EventSourceArn: jsii.String(queueARN), Target: f})
		},
		"stream": func(s awscdk.Stack, f awslambda.Function) {
			f.AddEventSource(awslambdaeventsources.NewKinesisEventSource(awskinesis.NewStream(s, jsii.String("Stream"), nil),
				&awslambdaeventsources.KinesisEventSourceProps{StartingPosition: awslambda.StartingPosition_LATEST}))
		},
		"no queue with reports":        func(s awscdk.Stack, f awslambda.Function) { queue(s, f, jsii.Bool(true)) },
		"no queue of another function": func(s awscdk.Stack, _ awslambda.Function) { queue(s, importedFunction(s), nil) },
		"no topic of Kafka": func(_ awscdk.Stack, f awslambda.Function) {
			f.AddEventSource(awslambdaeventsources.NewManagedKafkaEventSource(&awslambdaeventsources.ManagedKafkaEventSourceProps{
				ClusterArn: jsii.String(clusterARN), StartingPosition: awslambda.StartingPosition_LATEST, Topic: jsii.String("orders"),
			}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			own := ownFunction(t, stack)
			Protect(stack, "Orders", own, &ProtectProps{Retention: 400 * day, Table: NewIdempotencyTable(stack, "Table", nil)})
			add(stack, own)
			refused := attempt(func() { awscdk.Stage_Of(stack).Synth(nil) })
			want := !strings.HasPrefix(name, "no ")
			check.Equal(t, strings.Contains(refused, "invokes S/Orders without ReportBatchItemFailures"), want, refused)
			check.Equal(t, refused != "", want, refused)
		})
	}
}
