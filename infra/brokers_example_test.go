package infra_test

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsscheduler"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsstepfunctions"
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

// A queue of RabbitMQ, whose messages expire after a week.
func ExampleIdempotentFunction_AddMQ() {
	var user awssecretsmanager.ISecret
	orders.AddMQ("Orders", &infra.MQProps{
		BrokerARN:   "arn:aws:mq:eu-west-1:111122223333:broker:shop:b-0123abcd",
		Queue:       "orders",
		Secret:      user,
		Unconsumed:  7 * 24 * time.Hour,
		VirtualHost: "/shop",
	})
}

// A report that is sent every morning.
func ExampleIdempotentFunction_AddSchedule() {
	orders.AddSchedule("Report", awsscheduler.ScheduleExpression_Cron(&awsscheduler.CronOptionsWithTimezone{
		Hour: jsii.String("6"), Minute: jsii.String("0"), TimeZone: awscdk.TimeZone_EUROPE_BERLIN(),
	}), &infra.ScheduleProps{
		Detail:         map[string]any{"report": "daily"},
		FlexibleWindow: 15 * time.Minute,
	})
}

// A state that charges a card. A person looks at charges that may have happened.
func ExampleIdempotentFunction_NewTask() {
	var ask, refuse awsstepfunctions.IChainable
	pay := orders.NewTask(stack, "Pay", &infra.TaskProps{Execution: time.Hour})
	pay.AddCatch(ask, &awsstepfunctions.CatchProps{Errors: jsii.Strings("TimedOutError")})
	pay.AddCatch(refuse, &awsstepfunctions.CatchProps{Errors: jsii.Strings("CardDeclined")})
	awsstepfunctions.NewStateMachine(stack, jsii.String("Orders"), &awsstepfunctions.StateMachineProps{
		DefinitionBody: awsstepfunctions.DefinitionBody_FromChainable(pay),
		Timeout:        awscdk.Duration_Hours(jsii.Number(1)), // as in Execution
	})
}
