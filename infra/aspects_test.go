package infra

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

// everything is an app with each construct of this package that has no VPC.
func everything(t *testing.T) template.Template {
	t.Helper()
	stack := newStack()
	f := newFunction(t, stack, live(1))
	for name, source := range sources() {
		if name != "DynamoDB" { // has the ids of Kinesis
			source.add(f)
		}
	}
	relay := newRelay(t, stack, nil)
	NewAlarmTopic(stack, "OnCall", nil)
	NewSweep(stack, "Sweep", &SweepProps{Code: zip(t), Interval: day, Table: f.props.Table})
	NewAlarms(stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}, Relays: []*Relay{relay}})
	awscdk.Tags_Of(stack).Add(jsii.String("stage"), jsii.String("test"), nil)
	boundary := awsiam.ManagedPolicy_FromManagedPolicyArn(stack, jsii.String("Boundary"), jsii.String("arn:aws:iam::111122223333:policy/boundary"))
	awsiam.PermissionsBoundary_Of(stack).Apply(boundary)
	return synth(t, stack)
}

func TestAspectsReachEverything(t *testing.T) {
	deployed := everything(t)
	for id, role := range deployed.Resources("AWS::IAM::Role") {
		check.Equal(t, role.Properties()["PermissionsBoundary"], any("arn:aws:iam::111122223333:policy/boundary"), id)
	}
	for _, kind := range []string{
		tableType, alarmType, "AWS::IAM::Role", "AWS::Lambda::EventSourceMapping", "AWS::Lambda::Function", "AWS::Logs::LogGroup", "AWS::SNS::Topic", "AWS::SQS::Queue",
	} {
		found := deployed.Resources(kind)
		if len(found) == 0 {
			t.Errorf("there is no %s", kind)
		}
		for id, resource := range found {
			check.Contains(t, resource.Properties(), "stage", kind, id)
		}
	}
}

// Stages share an account, so that a fixed name would be taken.
func TestNothingHasAFixedName(t *testing.T) {
	for id, resource := range everything(t).Resources() {
		for _, name := range []string{"AlarmName", "DashboardName", "LogGroupName", "QueueName", "RoleName", "TableName", "TopicName"} {
			text, fixed := resource.Properties()[name].(string)
			if fixed {
				t.Errorf("%s has %s %q", id, name, text)
			}
		}
	}
}
