package infra

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdadestinations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsscheduler"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsschedulertargets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/appcheck"
	"github.com/lambda-once/once/infra/internal/check"
)

// An own is an app with a function behind sources that are written with CDK's own constructs.
// Its fields are good, so that the app has no finding; a row of the test breaks one.
type own struct {
	stack       awscdk.Stack
	timeout     float64
	level       awslambda.ApplicationLogLevel
	queue, dead awssqs.QueueProps
	messages    awslambdaeventsources.SqsEventSourceProps
	records     awslambdaeventsources.KinesisEventSourceProps
	invocations *awslambda.EventInvokeConfigOptions
	table       awsdynamodb.TablePropsV2
	protect     ProtectProps

	function awslambda.Function
	f        *IdempotentFunction
	made     awssqs.Queue
	last     awssqs.Queue
}

func newOwn() *own {
	stack := newStack()
	last := awssqs.NewQueue(stack, jsii.String("Last"), &awssqs.QueueProps{RetentionPeriod: seconds(maxKept)})
	return &own{
		stack: stack, timeout: 10, last: last,
		queue:    awssqs.QueueProps{VisibilityTimeout: seconds(60e9)},
		dead:     awssqs.QueueProps{RetentionPeriod: seconds(maxKept)},
		messages: awslambdaeventsources.SqsEventSourceProps{ReportBatchItemFailures: jsii.Bool(true)},
		records: awslambdaeventsources.KinesisEventSourceProps{
			BisectBatchOnError: jsii.Bool(true), MaxRecordAge: seconds(day / 2), OnFailure: awslambdaeventsources.NewSqsDlq(last),
			ReportBatchItemFailures: jsii.Bool(true), RetryAttempts: jsii.Number(10), StartingPosition: awslambda.StartingPosition_LATEST,
		},
		invocations: &awslambda.EventInvokeConfigOptions{OnFailure: awslambdadestinations.NewSqsDestination(last)},
		table:       awsdynamodb.TablePropsV2{PartitionKey: stringKey("id"), TimeToLiveAttribute: jsii.String("expiration")},
		protect:     ProtectProps{Operations: []string{"pay"}, Retention: 400 * day},
	}
}

// build creates the app. It adds the alarms last, as users should, and then what comes too late.
func (o *own) build(t *testing.T, late func(*own)) {
	t.Helper()
	o.function = ownFunction(t, o.stack, func(p *awslambda.FunctionProps) {
		if p.Timeout = awscdk.Duration_Seconds(&o.timeout); o.level != "" {
			p.ApplicationLogLevelV2, p.LoggingFormat = o.level, awslambda.LoggingFormat_JSON
		}
	})
	o.protect.Table = ImportIdempotencyTable(awsdynamodb.NewTableV2(o.stack, jsii.String("Records"), &o.table), nil)
	o.f = Protect(o.stack, "Orders", o.function, &o.protect)
	if o.queue.DeadLetterQueue == nil {
		o.queue.DeadLetterQueue = &awssqs.DeadLetterQueue{MaxReceiveCount: jsii.Number(5), Queue: awssqs.NewQueue(o.stack, jsii.String("Dead"), &o.dead)}
	}
	if *o.queue.DeadLetterQueue.MaxReceiveCount == 0 {
		o.queue.DeadLetterQueue = nil
	}
	o.made = awssqs.NewQueue(o.stack, jsii.String("Queue"), &o.queue)
	o.function.AddEventSource(awslambdaeventsources.NewSqsEventSource(o.made, &o.messages))
	o.function.AddEventSource(awslambdaeventsources.NewKinesisEventSource(awskinesis.NewStream(o.stack, jsii.String("Stream"), nil), &o.records))
	if o.invocations != nil {
		o.function.ConfigureAsyncInvoke(o.invocations)
	}
	awssns.NewTopic(o.stack, jsii.String("Topic"), nil).AddSubscription(awssnssubscriptions.NewLambdaSubscription(o.function, nil))
	api := awsapigatewayv2.NewHttpApi(o.stack, jsii.String("API"), nil)
	api.AddRoutes(&awsapigatewayv2.AddRoutesOptions{
		Integration: awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("Call"), o.function, nil), Path: jsii.String("/pay"),
	})
	NewAlarms(o.stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{o.f}})
	if late != nil {
		late(o)
	}
}

// texts returns the findings of an app as "fact path".
func texts(of awscdk.Stack) (found []string) {
	for _, finding := range Check(awscdk.Stage_Of(of)) {
		found = append(found, finding.Fact+" "+finding.Path)
	}
	return found
}

func TestEachFactIsFound(t *testing.T) {
	rows := map[string]struct {
		want   string // the fact, and the beginning of the path
		before func(*own)
		late   func(*own)
	}{
		"all is good":                             {},
		"a queue without reports":                 {want: "reports S/Own/Sqs", before: func(o *own) { o.messages.ReportBatchItemFailures = nil }},
		"a stream without reports":                {want: "reports S/Own/Kinesis", before: func(o *own) { o.records.ReportBatchItemFailures = nil }},
		"a queue that hides messages too shortly": {want: "visibility S/Queue/Resource", before: func(o *own) { o.queue.VisibilityTimeout = seconds(59e9) }},
		"a queue with the visibility of SQS":      {want: "visibility S/Queue/Resource", before: func(o *own) { o.queue.VisibilityTimeout = nil }},
		"a slower function":                       {want: "visibility S/Queue/Resource", before: func(o *own) { o.timeout = 11 }},
		"a batching window":                       {want: "visibility S/Queue/Resource", before: func(o *own) { o.messages.MaxBatchingWindow = seconds(1e9) }},
		"a queue without dead letters": {want: "dead-letters S/Queue/Resource", before: func(o *own) {
			o.queue.DeadLetterQueue = &awssqs.DeadLetterQueue{MaxReceiveCount: jsii.Number(0), Queue: o.last}
		}},
		"a queue that gives up at once": {want: "dead-letters S/Queue/Resource", before: func(o *own) {
			o.queue.DeadLetterQueue = &awssqs.DeadLetterQueue{MaxReceiveCount: jsii.Number(1), Queue: o.last}
		}},
		"dead letters that go at once":     {want: "dead-letter-retention S/Dead/Resource", before: func(o *own) { o.dead.RetentionPeriod = seconds(3 * day) }},
		"records that go before a message": {want: "queue-retention S/Queue/Resource", before: func(o *own) { o.protect.Retention = 18*day - 1 }},
		"more messages than may run": {want: "queue-concurrency S/Own/Sqs", late: func(o *own) {
			o.function.Node().DefaultChild().(awslambda.CfnFunction).SetReservedConcurrentExecutions(jsii.Number(3))
		}},
		"a queue of two functions": {want: "one-consumer S/Own/Sqs", late: func(o *own) {
			importedFunction(o.stack).AddEventSource(awslambdaeventsources.NewSqsEventSource(o.made, nil))
		}},
		"records of a stream that are in no queue": {want: "stream-failures S/Own/Kinesis", before: func(o *own) { o.records.OnFailure = nil }},
		"records that go before that of a stream": {want: "stream-retention S/Own/Kinesis", before: func(o *own) {
			o.queue.RetentionPeriod, o.dead.RetentionPeriod, o.protect.Retention = seconds(3600e9), seconds(3600e9), 14*day+12*time.Hour-1
		}},
		"records that go before an event": {want: "async-retention S/Own/EventInvokeConfig", before: func(o *own) {
			o.queue.RetentionPeriod, o.dead.RetentionPeriod, o.protect.Retention = seconds(3600e9), seconds(3600e9), 14*day+5*time.Hour
			o.records.MaxRecordAge = seconds(time.Hour)
		}},
		"a batch that is not split":   {want: "stream-bisect S/Own/Kinesis", before: func(o *own) { o.records.BisectBatchOnError = nil }},
		"a stream that forgets first": {want: "stream-age S/Own/Kinesis", before: func(o *own) { o.records.MaxRecordAge = seconds(day) }},
		"endless retries":             {want: "stream-age S/Own/Kinesis", before: func(o *own) { o.records.MaxRecordAge, o.records.RetryAttempts = nil, nil }},
		"a topic without OnFailure": {want: "async-failures S/Own/AllowInvoke", before: func(o *own) { o.invocations = nil }, late: func(o *own) {
			o.f.known.Alarmed["S/Last/Resource Failures"] = true
		}},
		"an HTTP API that waits too shortly": {want: "timeout S/API/", before: func(o *own) { o.timeout, o.queue.VisibilityTimeout = 31, seconds(186e9) }},
		"a REST API that waits too shortly": {want: "timeout S/REST/",
			before: func(o *own) { o.timeout, o.queue.VisibilityTimeout = 30, seconds(180e9) },
			late: func(o *own) {
				rest := awsapigateway.NewRestApi(o.stack, jsii.String("REST"), &awsapigateway.RestApiProps{CloudWatchRole: jsii.Bool(false)})
				rest.Root().AddMethod(jsii.String("POST"), awsapigateway.NewLambdaIntegration(o.function, nil), nil)
				NewAlarms(o.stack, "Again", &AlarmsProps{Functions: []*IdempotentFunction{o.f}})
			},
		},
		"a number as partition key": {want: "table-keys S/Records", before: func(o *own) {
			o.table.PartitionKey = &awsdynamodb.Attribute{Name: jsii.String("id"), Type: awsdynamodb.AttributeType_NUMBER}
		}},
		"an undeclared sort key":       {want: "table-keys S/Records", before: func(o *own) { o.table.SortKey = stringKey("other") }},
		"a table without time to live": {want: "table-ttl S/Records", before: func(o *own) { o.table.TimeToLiveAttribute = nil }},
		"a different table": {want: "variables S/Own/Resource", late: func(o *own) {
			o.function.AddEnvironment(jsii.String("IDEMPOTENCY_TABLE"), jsii.String("other"), nil)
		}},
		"a function without idempotency": {want: "disabled S/Own/Resource", late: func(o *own) {
			o.function.AddEnvironment(jsii.String("ONCE_DISABLED"), jsii.String("1"), nil)
		}},
		"a filter of log lines": {want: "log-filter S/Own/Resource", before: func(o *own) { o.level = awslambda.ApplicationLogLevel_WARN }},
		"a function without alarms": {want: "function-alarms S/Second", late: func(o *own) {
			Protect(o.stack, "Second", importedFunction(o.stack), &ProtectProps{Table: o.protect.Table, Timeout: 60e9})
		}},
		"a source after the alarms": {want: "source-alarms S/Orders", late: func(o *own) {
			awslambda.NewFunctionUrl(o.stack, jsii.String("URL"), &awslambda.FunctionUrlProps{Function: o.function})
		}},
	}
	covered := map[string]bool{}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			o := newOwn()
			if row.before != nil {
				row.before(o)
			}
			o.build(t, row.late)
			found := texts(o.stack)
			if row.want == "" {
				check.Equal(t, found, []string(nil))
				return
			}
			if check.Equal(t, len(found), 1, found); len(found) == 1 {
				check.Contains(t, found[0], row.want)
			}
		})
		fact, _, _ := strings.Cut(row.want, " ") // without a space, there is no finding
		covered[fact] = true
	}
	for _, fact := range appcheck.Facts() {
		check.Equal(t, covered[fact], true, fact, "has no row")
	}
}

// A schedule of CDK invokes the function as a topic does.
func TestASchedulesEventsAreNotDropped(t *testing.T) {
	o := newOwn()
	o.invocations = nil
	o.build(t, func(o *own) {
		awsscheduler.NewSchedule(o.stack, jsii.String("Report"), &awsscheduler.ScheduleProps{
			Schedule: awsscheduler.ScheduleExpression_Rate(awscdk.Duration_Hours(jsii.Number(1))), Target: awsschedulertargets.NewLambdaInvoke(o.function, nil),
		})
	})
	check.Contains(t, texts(o.stack), "async-failures S/Report/Resource")
}

// A source of an alias in a second stack is that of its function.
func TestSourcesOfAliasesAndOfOtherStacksAreFound(t *testing.T) {
	for name, add := range map[string]func(awscdk.Stack, awslambda.Function){
		"alias": func(s awscdk.Stack, f awslambda.Function) {
			f.AddAlias(jsii.String("live"), nil).AddEventSource(awslambdaeventsources.NewSqsEventSource(importedQueue(s, queueARN), nil))
		},
		"second stack": func(s awscdk.Stack, f awslambda.Function) {
			second := stackOf(awscdk.Stage_Of(s), "Second")
			awslambda.NewEventSourceMapping(second, jsii.String("Mapping"), &awslambda.EventSourceMappingProps{EventSourceArn: jsii.String(queueARN), Target: f})
		},
		"alias in a second stack": func(s awscdk.Stack, f awslambda.Function) {
			second := stackOf(awscdk.Stage_Of(s), "Second")
			awslambda.NewEventSourceMapping(second, jsii.String("Mapping"), &awslambda.EventSourceMappingProps{
				EventSourceArn: jsii.String(queueARN), Target: f.AddAlias(jsii.String("live"), nil),
			})
		},
		"resource": func(s awscdk.Stack, f awslambda.Function) {
			awslambda.NewCfnEventSourceMapping(s, jsii.String("Mapping"), &awslambda.CfnEventSourceMappingProps{EventSourceArn: jsii.String(queueARN), FunctionName: f.FunctionName()})
		},
	} {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			own := ownFunction(t, stack)
			Protect(stack, "Orders", own, &ProtectProps{Retention: 400 * day, Table: NewIdempotencyTable(stack, "Table", nil)})
			add(stack, own)
			check.Contains(t, texts(stack), "reports ")
			refused := attempt(func() { awscdk.Stage_Of(stack).Synth(nil) })
			check.Contains(t, refused, "invokes S/Orders without ReportBatchItemFailures")
		})
	}
}

// Its name is a different one once the app is prepared, and alarms walk through the app before.
func TestSourceOfAnImportFromAnotherStackIsFoundAfterAlarms(t *testing.T) {
	stack := newStack()
	second := stackOf(awscdk.Stage_Of(stack), "Second")
	imported := awslambda.Function_FromFunctionAttributes(second, jsii.String("Import"), &awslambda.FunctionAttributes{
		FunctionArn: ownFunction(t, stack).FunctionArn(), Role: newRole(second), SameEnvironment: jsii.Bool(true),
	})
	orders := Protect(second, "Orders", imported, &ProtectProps{Operations: []string{"pay"}, Retention: 400 * day, Table: NewIdempotencyTable(second, "Table", nil), Timeout: time.Minute})
	imported.AddEventSource(awslambdaeventsources.NewSqsEventSource(importedQueue(second, queueARN), nil))
	NewAlarms(second, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{orders}})
	refused := attempt(func() { awscdk.Stage_Of(stack).Synth(nil) })
	check.Contains(t, refused, "invokes Second/Orders without ReportBatchItemFailures")
}

// Stacks repeat logical ids, for example those of two stages.
func TestEqualIDsOfTwoStacksAreTwoFunctions(t *testing.T) {
	one := newStack()
	two := stackOf(awscdk.Stage_Of(one), "Two")
	for _, stack := range []awscdk.Stack{one, two} {
		f := ownFunction(t, stack)
		Protect(stack, "F", f, &ProtectProps{Retention: 400 * day, Table: NewIdempotencyTable(stack, "Table", nil)})
		f.AddEventSource(awslambdaeventsources.NewSqsEventSource(importedQueue(stack, queueARN+*stack.StackName()), &awslambdaeventsources.SqsEventSourceProps{
			ReportBatchItemFailures: jsii.Bool(stack == one),
		}))
	}
	found := texts(one)
	check.Equal(t, len(found), 1, found)
	check.Contains(t, found, "reports Two/")
}

// The stack of jsii bounds the calls of CDK within one validation.
func TestALargeAppIsSynthesized(t *testing.T) {
	one := newStack()
	code := zip(t)
	for i := range 3 {
		stack := stackOf(awscdk.Stage_Of(one), fmt.Sprint("Stack", i))
		table := NewIdempotencyTable(stack, "Table", nil)
		for j := range 10 {
			NewIdempotentFunction(stack, fmt.Sprint("F", j), &IdempotentFunctionProps{Code: code, Live: &LiveOptions{}, Retention: 18 * day, Table: table}).AddQueue("Queue", nil)
		}
	}
	check.Equal(t, attempt(func() { awscdk.Stage_Of(one).Synth(nil) }), "")
}

// A broker of Amazon MQ has no reports, and Lambda takes those of Kafka only with provisioned pollers.
func TestReportsAreAskedOnlyOfSourcesThatHaveThem(t *testing.T) {
	stack := newStack()
	f := ownFunction(t, stack)
	Protect(stack, "Orders", f, &ProtectProps{Retention: 400 * day, Table: NewIdempotencyTable(stack, "Table", nil)})
	awslambda.NewCfnEventSourceMapping(stack, jsii.String("Broker"), &awslambda.CfnEventSourceMappingProps{
		EventSourceArn: jsii.String(brokerARN), FunctionName: f.FunctionName(), Queues: &[]*string{jsii.String("orders")},
	})
	importedFunction(stack).AddEventSource(awslambdaeventsources.NewSqsEventSource(importedQueue(stack, queueARN), nil))
	check.Equal(t, texts(stack), []string(nil))
}

func TestAnAppThatProtectsNothingHasNoFindings(t *testing.T) {
	stack := newStack()
	f := ownFunction(t, stack)
	f.AddEventSource(awslambdaeventsources.NewSqsEventSource(awssqs.NewQueue(stack, jsii.String("Queue"), nil), nil))
	awssns.NewTopic(stack, jsii.String("Topic"), nil).AddSubscription(awssnssubscriptions.NewLambdaSubscription(f, nil))
	check.Equal(t, Check(stack), []Finding(nil))
	check.Equal(t, attempt(func() { awscdk.Stage_Of(stack).Synth(nil) }), "")
}

// An app with the sources of this package passes the check that one of CDK's own does.
func TestSourcesOfThisPackageHaveNoFindings(t *testing.T) {
	for name, source := range sources() {
		stack := newStack()
		f := newFunction(t, stack, longRecords)
		source.add(f)
		f.AddQueue("FIFO", &QueueProps{FIFO: true})
		NewAlarms(stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}})
		check.Equal(t, Check(stack), []Finding(nil), name)
	}
}

// Synthesis ends with all findings at once.
func TestSynthesisReportsAllFindings(t *testing.T) {
	o := newOwn()
	o.messages.ReportBatchItemFailures, o.queue.VisibilityTimeout = nil, seconds(59e9)
	o.build(t, nil)
	refused := attempt(func() { awscdk.Stage_Of(o.stack).Synth(nil) })
	for _, finding := range Check(o.stack) {
		check.Contains(t, refused, finding.String())
	}
	check.Equal(t, len(Check(o.stack)), 2)
}

// A finding that is accepted has its reason in the template.
func TestAFindingIsAccepted(t *testing.T) {
	o := newOwn()
	o.queue.VisibilityTimeout = seconds(59e9)
	o.build(t, nil)
	Accept(o.made, "visibility", "the handler stops after 9 s")
	check.Equal(t, texts(o.stack), []string(nil))
	text := fmt.Sprint(synth(t, o.stack).Resources("AWS::SQS::Queue"))
	check.Contains(t, text, "once:accepts:visibility:the handler stops after 9 s")
	wantRefusal(t, `fact: "visible" is none of the check`, func() { Accept(o.made, "visible", "because") })
	wantRefusal(t, "reason: it is required", func() { Accept(o.made, "visibility", " ") })
	wantRefusal(t, "construct: it is nil", func() { Accept(nil, "visibility", "because") })
	wantRefusal(t, "construct: it is no resource", func() { Accept(importedQueue(o.stack, queueARN), "visibility", "because") })
}

// The alarms find the sources of the app, whoever made them.
func TestSourcesOfCDKHaveAlarms(t *testing.T) {
	o := newOwn()
	o.build(t, nil)
	var got []string
	deployed := synth(t, o.stack)
	for id := range deployed.Resources(alarmType) {
		if name, ours := strings.CutPrefix(id, "AlarmsOrders"); ours {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	check.Equal(t, got, strings.Fields("DeadLetters Errors Failures IteratorAge QueueAge ServerErrors Silent Throttles Undelivered"))
	emits(t, deployed)
}

const queueARN = "arn:aws:sqs:eu-west-1:111122223333:orders"

func importedQueue(stack awscdk.Stack, arn string) awssqs.IQueue {
	return awssqs.Queue_FromQueueArn(stack, jsii.String("Imported"), &arn)
}
