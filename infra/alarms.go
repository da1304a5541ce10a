package infra

import (
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

	"github.com/lambda-once/once/infra/internal/appcheck"
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
	p := orZero(props)
	if p.Operations == nil {
		p.Operations = stated(p.Functions)
	}
	refuseID(scope, id, "").panic(scope, id)
	app := appcheck.AppOf(scope)
	p.refuse(app).panic(scope, id)
	a := &alarms{scope: constructs.NewConstruct(scope, &id), props: &p}
	// Without this flag, CDK panics if a function is the action of a second alarm.
	a.scope.Node().SetContext(jsii.String("@aws-cdk/aws-cloudwatch-actions:changeLambdaPermissionLogicalIdForLambdaAction"), true)
	for _, operation := range p.Operations {
		a.add(operation, append(ofOperation(operation), p.duplicates(operation)...))
	}
	for _, f := range p.Functions {
		watched := f.watched(app)
		a.add(*f.scope.Node().Id(), append(watched, f.silence()...))
		f.known.Alarmed = map[string]bool{}
		for _, s := range watched {
			f.known.Alarmed[s.key()] = true
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
		id := name + suffix(several[s.Name]) + s.Name
		several[s.Name]++
		refuseID(a.scope, id, "").panic(a.scope, "")
		props := &awscloudwatch.AlarmProps{
			AlarmDescription:   jsii.String(strings.TrimPrefix(name+": ", ": ") + s.description()),
			ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD, EvaluationPeriods: jsii.Number(1),
			Metric: s.metric, Threshold: jsii.Number(s.threshold(a.props)), TreatMissingData: awscloudwatch.TreatMissingData_NOT_BREACHING,
		}
		if s.Missing == "breaching" {
			props.TreatMissingData = awscloudwatch.TreatMissingData_BREACHING
		}
		if s.Hours > 0 {
			props.EvaluationPeriods, props.DatapointsToAlarm = jsii.Number(24), jsii.Number(s.Hours)
		}
		alarm := awscloudwatch.NewAlarm(a.scope, &id, props)
		actions, made := &a.props.Page, &a.made.Page
		if s.Severity == "ticket" {
			actions, made = &a.props.Ticket, &a.made.Ticket
		}
		for _, topic := range slices.Concat(a.props.Notify, actions.Notify) {
			action := awscloudwatchactions.NewSnsAction(topic)
			alarm.AddAlarmAction(action)
			alarm.AddOkAction(action)
		}
		alarm.AddAlarmAction(actions.Actions...)
		*made = append(*made, alarm)
	}
}

func ofOperation(name string) (all []signal) {
	for _, e := range catalog.Operation {
		s := signal{entry: e}
		switch {
		case e.Expression != "": // a percentage of enough calls: one double click at night must not ring
			s.metric = ofCalls(e.Expression, e.Label, name, "conflict")
		case e.Outcome != "":
			s.metric = calls(name, e.Outcome)
		default:
			s.metric = sum(e.Metric, name)
		}
		all = append(all, s)
	}
	return all
}

// duplicates returns the signal of the share of duplicates, if there is a threshold: how
// many are usual depends on the senders.
func (p *AlarmsProps) duplicates(operation string) []signal {
	e := catalog.Share["Duplicates"]
	if _, set := p.Thresholds[e.Setting]; !set {
		return nil
	}
	return []signal{{entry: e, metric: ofCalls(e.Expression, e.Label, operation, "conflict", "replayed")}}
}

// AlarmTopicProps are the props of [NewAlarmTopic]. The zero value of every
// field is its default.
type AlarmTopicProps struct {
	// Key encrypts the topic. Its policy then lets alarms use it; the policy of an
	// imported key must do so already. Default: none.
	Key awskms.IKey
}

// NewAlarmTopic creates a topic for AlarmsProps.Notify. It refuses requests without
// TLS, and lets the alarms of its account publish. The latter must be explicit,
// because a policy replaces the default one, under which CloudWatch may publish. If
// props is nil, all defaults apply.
//
// NewAlarmTopic panics with a [*PropsError] for props that cannot work.
func NewAlarmTopic(scope constructs.Construct, id string, props *AlarmTopicProps) awssns.Topic {
	p := orZero(props)
	append(refuseKey(p.Key), refuseID(scope, id, "")...).panic(scope, id)
	topic := awssns.NewTopic(scope, &id, &awssns.TopicProps{EnforceSSL: jsii.Bool(true), MasterKey: p.Key})
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
