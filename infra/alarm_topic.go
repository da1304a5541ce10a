package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

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
