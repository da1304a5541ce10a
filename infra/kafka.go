package infra

import (
	"cmp"
	"slices"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/appcheck"
)

// KafkaProps are the props of [IdempotentFunction.AddKafka]. Topic and one of
// BootstrapServers and ClusterARN are required; the zero value of every other field is its
// default.
type KafkaProps struct {
	// BootstrapServers are the addresses of a self-managed cluster, as host:port. Default: none,
	// an MSK cluster.
	BootstrapServers []string

	// ClusterARN is the ARN of an MSK cluster. Default: none, a self-managed one.
	ClusterARN string

	// Configure changes the props of CDK before the source is created: credentials, the consumer
	// group, filters, a VPC, BatchSize (100), MaxRecordAge (24 h), RetryAttempts (10), the
	// pollers (1 to 200). Default: none. MSK then uses IAM.
	Configure func(*awslambda.EventSourceMappingProps)

	// Topic is the name of the topic.
	Topic string

	// TopicRetention is how long the topic keeps a record: retention.ms and segment.ms together,
	// because Kafka deletes whole segments. Every record may come again to a new consumer group,
	// so the function's records must live as long. Default: not declared, not checked.
	TopicRetention time.Duration
}

// AddKafka feeds the function from a topic of MSK or of a self-managed cluster. The source
// has provisioned pollers, which AWS bills by the hour: without them, Lambda takes a report
// of failed records for success, and loses them. A record that fails is retried ten times, and
// given up at an age of 24 h. The queue that AddKafka returns then receives its position, if the
// VPC of the brokers has an endpoint of SQS. The alarm OffsetLag rings from 10,000 waiting records.
//
// AddKafka panics with a [*PropsError] for props that CDK refuses, and if the function's records
// may expire before a record is delivered again: after TopicRetention.
func (f *IdempotentFunction) AddKafka(id string, props *KafkaProps) awssqs.Queue {
	p := orZero(props)
	append(p.refuse(f), refuseID(f.scope, id, "")...).panic(f.scope, id)
	refuseID(f.scope, id, failuresID).panic(f.scope, id)
	return build(f.scope, id, "Configure", func() awssqs.Queue {
		failures := f.newFailures(id)
		source := &awslambda.EventSourceMappingProps{
			BatchSize: jsii.Number(f.batchSize(100)), EventSourceArn: named(p.ClusterARN), KafkaTopic: &p.Topic, Target: f.Target(),
			BisectBatchOnError: jsii.Bool(true), ReportBatchItemFailures: jsii.Bool(true), StartingPosition: awslambda.StartingPosition_TRIM_HORIZON,
			MaxRecordAge: seconds(day), OnFailure: awslambdaeventsources.NewSqsDlq(failures), RetryAttempts: jsii.Number(10),
			ProvisionedPollerConfig: &awslambda.ProvisionedPollerConfig{MaximumPollers: jsii.Number(200), MinimumPollers: jsii.Number(1)},
		}
		if p.ClusterARN == "" {
			source.KafkaBootstrapServers = jsii.Strings(p.BootstrapServers...)
		}
		if p.Configure != nil {
			p.Configure(source)
		}
		p.grant(f, source)
		f.afterGrants(awslambda.NewEventSourceMapping(f.scope, &id, source))
		return failures
	})
}

// grant allows the calls that Lambda makes in the function's role.
func (p *KafkaProps) grant(f *IdempotentFunction, source *awslambda.EventSourceMappingProps) {
	access := *cmp.Or(source.SourceAccessConfigurations, &[]*awslambda.SourceAccessConfiguration{})
	if p.ClusterARN != "" || slices.ContainsFunc(access, func(a *awslambda.SourceAccessConfiguration) bool { return *a.Type.Type() == "VPC_SUBNET" }) {
		f.grantNetwork()
	}
	if p.ClusterARN == "" {
		return
	}
	allow(f.Function, []*string{&p.ClusterARN}, nil, "kafka:DescribeCluster", "kafka:DescribeClusterV2", "kafka:GetBootstrapBrokers", "kafka:ListScramSecrets")
	if len(access) > 0 {
		return
	}
	within := func(kind, name string) *string {
		arn := awscdk.Fn_Split(jsii.String(":cluster/"), &p.ClusterARN, jsii.Number(2))
		return jsii.String(*awscdk.Fn_Join(jsii.String(":"+kind+"/"), arn) + "/" + name)
	}
	group := cmp.Or(source.KafkaConsumerGroupId, jsii.String("*"))
	allow(f.Function, []*string{&p.ClusterARN, within("topic", p.Topic), within("group", *group)}, nil,
		"kafka-cluster:AlterGroup", "kafka-cluster:Connect", "kafka-cluster:DescribeClusterDynamicConfiguration",
		"kafka-cluster:DescribeGroup", "kafka-cluster:DescribeTopic", "kafka-cluster:ReadData")
}

func (p *KafkaProps) refuse(f *IdempotentFunction) (found problems) {
	found.when((p.ClusterARN == "") == (len(p.BootstrapServers) == 0), "BootstrapServers, ClusterARN: state one of them")
	found.when(p.Topic == "", "Topic: it is required")
	event, advice := f.props.store().expiry()
	found.when(f.props.Retention < p.TopicRetention, "Retention: the topic may deliver a record again for %s, but %s after %s; %s", p.TopicRetention, event, f.props.Retention, advice)
	return found
}

// afterGrants lets a source of an import wait for the policy of the function's role, which
// Lambda checks. A function that CDK creates waits for it itself.
func (f *IdempotentFunction) afterGrants(source constructs.IConstruct) {
	role := f.Function.Role()
	_, created := appcheck.Unqualified(f.Function).Node().DefaultChild().(awslambda.CfnFunction)
	if !created && *role.Stack().Node().Path() == *awscdk.Stack_Of(source).Node().Path() {
		source.Node().AddDependency(role)
	}
}

// grantNetwork allows Lambda to connect to brokers in a VPC.
func (f *IdempotentFunction) grantNetwork() {
	allow(f.Function, []*string{jsii.String("*")}, nil, "ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface",
		"ec2:DescribeNetworkInterfaces", "ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs")
}
