package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// NewAlarms creates alarms for operations, for functions and for their event
// sources. Each alarm evaluates 5 min and does not ring without data. Its
// description advises the operator. The alarms of operations need the metrics
// that package emf writes.
func NewAlarms(scope constructs.Construct, id string, props *AlarmsProps) []awscloudwatch.Alarm {
	p := props.withDefaults()
	append(p.refuse(), refuseID(scope, id, "")...).panic(scope, id)
	a := &alarms{scope: constructs.NewConstruct(scope, &id), notify: p.Notify}
	for _, operation := range p.Operations {
		a.operation(operation, &p)
	}
	for _, f := range p.Functions {
		a.source(*f.scope.Node().Id(), f.watched(), &p)
	}
	for _, r := range p.Relays {
		a.source(*r.scope.Node().Id(), r.watched(), &p)
	}
	return a.made
}

type alarms struct {
	scope  constructs.Construct
	notify []awssns.ITopic
	made   []awscloudwatch.Alarm
}

// add creates an alarm that rings at or above a threshold.
func (a *alarms) add(id, description string, metric awscloudwatch.IMetric, threshold float64) {
	refuseID(a.scope, id, "").panic(a.scope, "")
	alarm := awscloudwatch.NewAlarm(a.scope, &id, &awscloudwatch.AlarmProps{
		AlarmDescription:   &description,
		ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
		EvaluationPeriods:  jsii.Number(1),
		Metric:             metric,
		Threshold:          &threshold,
		TreatMissingData:   awscloudwatch.TreatMissingData_NOT_BREACHING,
	})
	for _, topic := range a.notify {
		action := awscloudwatchactions.NewSnsAction(topic)
		alarm.AddAlarmAction(action)
		alarm.AddOkAction(action)
	}
	a.made = append(a.made, alarm)
}

// enoughCalls is the number of calls in a period from which a percentage counts:
// one double click at night must not ring.
const enoughCalls = 20

func (a *alarms) operation(name string, p *AlarmsProps) {
	for _, row := range []struct {
		id, advice string
		metric     awscloudwatch.IMetric
		threshold  float64
	}{
		{"LeaseLost", "a call outlived its lease, and its effect may have happened twice. Compare the lease with how long the handler runs.", calls(name, "lease lost"), 1},
		{"Unknown", "it is unknown whether the effect happened. Look at the system of the effect, and resolve the record.", calls(name, "unknown"), 1},
		{"TimedOut", "a handler was cut off at its deadline; its effect may have happened, and the retry repeats it. Raise the timeout, or use a downstream key.", calls(name, "timed out"), 1},
		{"Mismatch", "a key came again with a different payload. The key is not unique, or a client reuses it.", calls(name, "mismatch"), float64(p.Mismatches)},
		{"Takeovers", "many runs follow an attempt that failed or lapsed. See the function's errors and timeouts.", calls(name, "takeover"), float64(p.Takeovers)},
		{"LapsedLeases", "an attempt crashed or was frozen, and a later one took over. Its effect may have happened twice: check the keys in the log, and use a downstream key.",
			sum("LapsedLeases", name), float64(p.LapsedLeases)},
		{"Refused", "requests are refused before the handler runs. The log has the reason: a scope that finds no caller refuses every request.", sum("Refused", name), float64(p.Refusals)},
		{"StoreErrors", "calls to DynamoDB fail. See the function's log for the errors.", sum("StoreErrors", name), 1},
		{"StoreThrottles", "DynamoDB throttles. See whether the table or one key is hot.", sum("StoreThrottles", name), 1},
		{"Conflicts", "many calls meet a running duplicate. Callers retry too early, or the handler is slow.", percent(name, "conflicts in percent", enoughCalls, "conflict"), p.ConflictPercent},
	} {
		a.add(name+row.id, name+": "+row.advice, row.metric, row.threshold)
	}
}

// source adds the alarms of a function, or of a relay, and of its event sources.
func (a *alarms) source(name string, watched []signal, p *AlarmsProps) {
	several := map[string]int{}
	for _, s := range watched {
		a.add(name+suffix(several[s.id])+s.id, name+": "+s.advice, s.metric, s.threshold(p))
		several[s.id]++
	}
}

// AlarmTopicProps are the props of [NewAlarmTopic]. The zero value of every
// field is its default.
type AlarmTopicProps struct {
	// TopicName is the name of the topic. Default: CloudFormation generates one.
	TopicName string
}

// NewAlarmTopic creates a topic for AlarmsProps.Notify. It refuses requests without
// TLS, and lets the alarms of its account publish. The latter must be explicit,
// because a policy replaces the default one, under which CloudWatch may publish. If
// props is nil, all defaults apply.
//
// NewAlarmTopic panics with a [*PropsError] for an id that is taken.
func NewAlarmTopic(scope constructs.Construct, id string, props *AlarmTopicProps) awssns.Topic {
	refuseID(scope, id, "").panic(scope, id)
	topic := awssns.NewTopic(scope, &id, &awssns.TopicProps{EnforceSSL: jsii.Bool(true), TopicName: named(orZero(props).TopicName)})
	topic.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions:    jsii.Strings("sns:Publish"),
		Conditions: &map[string]any{"StringEquals": map[string]any{"aws:SourceAccount": awscdk.Stack_Of(topic).Account()}},
		Principals: &[]awsiam.IPrincipal{awsiam.NewServicePrincipal(jsii.String("cloudwatch.amazonaws.com"), nil)},
		Resources:  &[]*string{topic.TopicArn()},
		Sid:        jsii.String("AllowAlarms"),
	}))
	return topic
}
