package infra_test

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsscheduler"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsschedulertargets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra"
)

var (
	orders *infra.IdempotentFunction
	stack  awscdk.Stack
)

// A topic of an MSK cluster that uses IAM.
func ExampleIdempotentFunction_AddKafka() {
	orders.AddKafka("Orders", &infra.KafkaProps{
		ClusterARN:     "arn:aws:kafka:eu-west-1:111122223333:cluster/shop/0123abcd-1",
		Topic:          "orders",
		TopicRetention: 14 * 24 * time.Hour, // retention.ms and segment.ms, 7 days each
		Configure: func(p *awslambda.EventSourceMappingProps) {
			p.KafkaConsumerGroupId = jsii.String("orders")
			p.ProvisionedPollerConfig.MaximumPollers = jsii.Number(10)
		},
	})
}

// Brokers of your own in a VPC, with client certificates.
func ExampleIdempotentFunction_AddKafka_selfManaged() {
	var certificate awssecretsmanager.ISecret
	var group awsec2.ISecurityGroup
	var subnet awsec2.ISubnet
	certificate.GrantRead(orders.Function, nil)
	orders.AddKafka("Orders", &infra.KafkaProps{
		BootstrapServers: []string{"kafka-1.example.com:9093", "kafka-2.example.com:9093"},
		Topic:            "orders",
		Configure: func(p *awslambda.EventSourceMappingProps) {
			p.SourceAccessConfigurations = &[]*awslambda.SourceAccessConfiguration{
				{Type: awslambda.SourceAccessConfigurationType_CLIENT_CERTIFICATE_TLS_AUTH(), Uri: certificate.SecretArn()},
				{Type: awslambda.SourceAccessConfigurationType_VPC_SECURITY_GROUP(), Uri: group.SecurityGroupId()},
				{Type: awslambda.SourceAccessConfigurationType_VPC_SUBNET(), Uri: subnet.SubnetId()},
			}
		},
	})
}

// A queue of RabbitMQ, by the construct of CDK.
func ExampleIdempotentFunction_rabbitMQ() {
	var user awssecretsmanager.ISecret
	broker := jsii.String("arn:aws:mq:eu-west-1:111122223333:broker:shop:b-0123abcd")
	user.GrantRead(orders.Function, nil)
	orders.Function.AddToRolePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions: jsii.Strings("mq:DescribeBroker"), Resources: &[]*string{broker},
	}))
	orders.Function.AddToRolePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions: jsii.Strings("ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface", "ec2:DescribeNetworkInterfaces",
			"ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs"),
		Resources: jsii.Strings("*"),
	}))
	awslambda.NewCfnEventSourceMapping(stack, jsii.String("OrdersOfBroker"), &awslambda.CfnEventSourceMappingProps{
		EventSourceArn: broker,
		FunctionName:   orders.Function.FunctionName(),
		Queues:         jsii.Strings("orders"),
		SourceAccessConfigurations: &[]*awslambda.CfnEventSourceMapping_SourceAccessConfigurationProperty{
			{Type: jsii.String("BASIC_AUTH"), Uri: user.SecretArn()},
			{Type: jsii.String("VIRTUAL_HOST"), Uri: jsii.String("/shop")},
		},
	})
}

// A report that is sent every morning, by the constructs of CDK.
func ExampleIdempotentFunction_schedule() {
	failures := orders.FailureQueue()
	time := *awsscheduler.ContextAttribute_ScheduledTime()
	awsscheduler.NewSchedule(stack, jsii.String("Report"), &awsscheduler.ScheduleProps{
		Schedule: awsscheduler.ScheduleExpression_Cron(&awsscheduler.CronOptionsWithTimezone{
			Hour: jsii.String("6"), Minute: jsii.String("0"), TimeZone: awscdk.TimeZone_EUROPE_BERLIN(),
		}),
		Target: awsschedulertargets.NewLambdaInvoke(orders.Target(), &awsschedulertargets.ScheduleTargetBaseProps{
			DeadLetterQueue: failures, // of Scheduler
			Input: awsscheduler.ScheduleTargetInput_FromObject(map[string]any{
				"detail": map[string]any{"report": "daily"}, "id": *awsscheduler.ContextAttribute_ScheduleArn() + "/" + time, "time": time,
			}),
		}),
	})
}
