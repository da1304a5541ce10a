package infra

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// NewAlarms creates alarms for operations, for functions and for their event
// sources. Each alarm evaluates 5 min and does not ring without data. Its
// description advises the operator, and states its severity and the page of the
// documentation.
//
// The alarms of operations need the metrics of package emf. With package dynamoenv, the
// variable ONCE_METRICS suffices; other functions must name emf in Config.Observer. The alarm
// Silent finds a function of up to eight operations that runs and writes none.
//
// CloudWatch also sends each change of an alarm to EventBridge, without any action.
//
// NewAlarms panics with a [*PropsError] for props that cannot work.
func NewAlarms(scope constructs.Construct, id string, props *AlarmsProps) *Alarms {
	p := props.withDefaults()
	refuseID(scope, id, "").panic(scope, id)
	app := appOf(scope)
	p.refuse(app).panic(scope, id)
	a := &alarms{scope: constructs.NewConstruct(scope, &id), props: &p}
	// Without this flag, CDK panics if a function is the action of a second alarm.
	a.scope.Node().SetContext(jsii.String("@aws-cdk/aws-cloudwatch-actions:changeLambdaPermissionLogicalIdForLambdaAction"), true)
	for _, operation := range p.Operations {
		a.add(operation, ofOperation(operation))
	}
	for _, f := range p.Functions {
		watched := f.watched(app)
		a.add(*f.scope.Node().Id(), append(watched, f.silence()...))
		f.alarmed = map[string]bool{}
		for _, s := range watched {
			f.alarmed[s.key()] = true
		}
	}
	for _, r := range p.Relays {
		a.add(*r.scope.Node().Id(), r.watched())
	}
	return &a.made
}

// Alarms are those of [NewAlarms], by severity; see AlarmsProps.
type Alarms struct{ Page, Ticket []awscloudwatch.Alarm }

type alarms struct {
	scope constructs.Construct
	props *AlarmsProps
	made  Alarms
}

// add creates the alarms of an operation, a function or a relay.
func (a *alarms) add(name string, watched []signal) {
	several := map[string]int{}
	for _, s := range watched {
		id := name + suffix(several[s.id]) + s.id
		several[s.id]++
		refuseID(a.scope, id, "").panic(a.scope, "")
		props := &awscloudwatch.AlarmProps{
			AlarmDescription: jsii.String(strings.TrimPrefix(name+": ", ": ") + s.advice + s.reference()), AlarmName: a.props.name(a.scope, id),
			ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD, EvaluationPeriods: jsii.Number(1),
			Metric: s.metric, Threshold: jsii.Number(s.threshold(a.props)), TreatMissingData: awscloudwatch.TreatMissingData_NOT_BREACHING,
		}
		if s.hours > 0 {
			props.EvaluationPeriods, props.DatapointsToAlarm = jsii.Number(24), jsii.Number(s.hours)
		}
		alarm := awscloudwatch.NewAlarm(a.scope, &id, props)
		actions, made := &a.props.Page, &a.made.Page
		if s.ticket {
			actions, made = &a.props.Ticket, &a.made.Ticket
		}
		a.act(alarm, actions)
		*made = append(*made, alarm)
	}
}

func (a *alarms) act(alarm awscloudwatch.Alarm, own *AlarmActions) {
	for _, topic := range slices.Concat(a.props.Notify, own.Notify) {
		action := awscloudwatchactions.NewSnsAction(topic)
		alarm.AddAlarmAction(action)
		alarm.AddOkAction(action)
	}
	alarm.AddAlarmAction(own.Actions...)
}

// enoughCalls is the number of calls in a period from which a percentage counts:
// one double click at night must not ring.
const enoughCalls = 20

func ofOperation(name string) []signal {
	outcome := func(outcome string) awscloudwatch.IMetric { return calls(name, outcome) }
	all := []signal{
		{id: "LeaseLost", advice: "a call outlived its lease, and its effect may have happened twice. Compare the lease with how long the handler runs.", metric: outcome("lease lost"), threshold: fixed(1)},
		{id: "Unknown", advice: "it is unknown whether the effect happened. Look at the system of the effect, and resolve the record.", page: settling, metric: outcome("unknown"), threshold: fixed(1)},
		{id: "TimedOut", advice: "a handler was cut off at its deadline; its effect may have happened, and the retry repeats it. Raise the timeout, or use a downstream key.", metric: outcome("timed out"), threshold: fixed(1)},
		{id: "Repeated", advice: "an optimistic call repeated an effect that no transaction holds. Its handler must attach its effect, or Optimistic must go.", metric: outcome("repeated"), threshold: fixed(1)},
		{id: "Mismatch", ticket: true, advice: "a key came again with a different payload. The key is not unique, or a client reuses it.", metric: outcome("mismatch"), threshold: count(func(p *AlarmsProps) int { return p.Mismatches })},
		{id: "Takeovers", ticket: true, advice: "many runs follow an attempt that failed or lapsed. See the function's errors and timeouts.", metric: outcome("takeover"), threshold: count(func(p *AlarmsProps) int { return p.Takeovers })},
		{id: "LapsedLeases", advice: "an attempt crashed or was frozen, and a later one took over. Its effect may have happened twice: check the keys in the log, and use a downstream key.", metric: sum("LapsedLeases", name), threshold: count(func(p *AlarmsProps) int { return p.LapsedLeases })},
		{id: "Refused", ticket: true, advice: "requests are refused before the handler runs. The log has the reason: a scope that finds no caller refuses every request.", metric: sum("Refused", name), threshold: count(func(p *AlarmsProps) int { return p.Refusals })},
		{id: "StoreErrors", advice: "calls to the store fail. See the function's log for the errors.", page: outage, metric: sum("StoreErrors", name), threshold: fixed(1)},
		{id: "StoreThrottles", ticket: true, advice: "the store is too busy. With DynamoDB, see whether the table or one key is hot.", metric: sum("StoreThrottles", name), threshold: fixed(1)},
		{id: "Conflicts", ticket: true, advice: "many calls meet a running duplicate. Callers retry too early, or the handler is slow.", metric: percent(name, "conflicts in percent", enoughCalls, "conflict"), threshold: func(p *AlarmsProps) float64 { return p.ConflictPercent }},
	}
	for i := range all {
		all[i].page = cmp.Or(all[i].page, ofOperations)
	}
	return all
}

// AlarmTopicProps are the props of [NewAlarmTopic]. The zero value of every
// field is its default.
type AlarmTopicProps struct {
	// Key encrypts the topic. Its policy then lets alarms use it; the policy of an
	// imported key must do so already. Default: none.
	Key awskms.IKey

	// TopicName is the name of the topic: 1 to 256 letters, digits, _ and -. Default:
	// CloudFormation generates one.
	TopicName string
}

var topicName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)

// NewAlarmTopic creates a topic for AlarmsProps.Notify. It refuses requests without
// TLS, and lets the alarms of its account publish. The latter must be explicit,
// because a policy replaces the default one, under which CloudWatch may publish. If
// props is nil, all defaults apply.
//
// NewAlarmTopic panics with a [*PropsError] for props that cannot work.
func NewAlarmTopic(scope constructs.Construct, id string, props *AlarmTopicProps) awssns.Topic {
	p := orZero(props)
	found := append(refuseKey(p.Key), refuseID(scope, id, "")...)
	found.when(p.TopicName != "" && !unresolved(p.TopicName) && !topicName.MatchString(p.TopicName), "TopicName: %q is not 1 to 256 letters, digits, _ and -", p.TopicName)
	found.panic(scope, id)
	topic := awssns.NewTopic(scope, &id, &awssns.TopicProps{EnforceSSL: jsii.Bool(true), MasterKey: p.Key, TopicName: named(p.TopicName)})
	topic.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions:    jsii.Strings("sns:Publish"),
		Conditions: &map[string]any{"StringEquals": map[string]any{"aws:SourceAccount": awscdk.Stack_Of(topic).Account()}},
		Principals: &[]awsiam.IPrincipal{awsiam.NewServicePrincipal(jsii.String("cloudwatch.amazonaws.com"), nil)},
		Resources:  &[]*string{topic.TopicArn()},
		Sid:        jsii.String("AllowAlarms"),
	}))
	allowSender(p.Key, "cloudwatch")
	return topic
}
