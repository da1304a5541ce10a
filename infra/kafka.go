package infra

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
)

// KafkaProps are the props of [IdempotentFunction.AddKafka]. Topic and one of
// BootstrapServers and ClusterARN are required; the zero value of every other field
// is its default.
type KafkaProps struct {
	// BootstrapServers are the addresses of a self-managed cluster, as host:port.
	// Default: none, an MSK cluster.
	BootstrapServers []string

	// ClusterARN is the ARN of an MSK cluster. Default: none, a self-managed one.
	ClusterARN string

	// Configure changes the props of CDK before the source is created: credentials,
	// the consumer group, filters, a VPC. It must not change the function, the
	// report, retries, the age or the destination. Default: none. Lambda reads
	// batches of 100 from the oldest record, with 1 to 200 pollers. MSK uses IAM.
	Configure func(*awslambda.EventSourceMappingProps)

	// Lag is the number of records of the topic that wait for the function from which
	// the alarm OffsetLag rings. Default: 10,000.
	Lag int

	// MaxAge is the age at which a record is given up: whole seconds, 1 min to 7
	// days. Older records of a topic do not run. Default: 24 h.
	MaxAge time.Duration

	// Retries is the number of retries before a batch is given up: 1 to 10,000.
	// Default: 10.
	Retries int

	// Topic is the name of the topic.
	Topic string

	// TopicRetention is how long the topic keeps a record: retention.ms and
	// segment.ms together, because Kafka deletes whole segments. Every record may
	// come again to a new consumer group, so the function's records must live as
	// long. Default: not declared, not checked.
	TopicRetention time.Duration
}

// AddKafka feeds the function from a topic of MSK or of a self-managed cluster. The
// source has provisioned pollers, which AWS bills by the hour: without them, Lambda
// takes a report of failed records for success, and loses them. The queue that
// AddKafka returns receives the positions of records that were given up, if the VPC
// of the brokers has an endpoint of SQS.
//
// AddKafka panics with a [*PropsError] for a timeout of more than 14 min, and if the
// function's records may expire before a record is delivered or sent again: after
// TopicRetention, and FailureRetention after MaxAge.
func (f *IdempotentFunction) AddKafka(id string, props *KafkaProps) awssqs.Queue {
	p := filled(props, KafkaProps{Lag: 10000, MaxAge: day, Retries: 10})
	append(f.refuseBroker("Kafka", id), p.refuse(f)...).panic(f.scope, id)
	refuseID(f.scope, id, failuresID).panic(f.scope, id)
	failures := f.newFailures(id)
	source := &awslambda.EventSourceMappingProps{
		BatchSize:               jsii.Number(f.batchSize(100)),
		BisectBatchOnError:      jsii.Bool(true),
		KafkaTopic:              &p.Topic,
		MaxRecordAge:            seconds(p.MaxAge),
		OnFailure:               awslambdaeventsources.NewSqsDlq(failures),
		ProvisionedPollerConfig: &awslambda.ProvisionedPollerConfig{MaximumPollers: jsii.Number(200), MinimumPollers: jsii.Number(1)},
		ReportBatchItemFailures: jsii.Bool(true),
		RetryAttempts:           jsii.Number(p.Retries),
		StartingPosition:        awslambda.StartingPosition_TRIM_HORIZON,
		Target:                  f.target(),
	}
	if p.ClusterARN != "" {
		source.EventSourceArn = &p.ClusterARN
	} else {
		source.KafkaBootstrapServers = jsii.Strings(p.BootstrapServers...)
	}
	own := *source
	if p.Configure != nil {
		p.Configure(source)
	}
	var changed problems
	same := source.MaxRecordAge == own.MaxRecordAge && source.OnFailure == own.OnFailure && source.ProvisionedPollerConfig != nil &&
		source.ReportBatchItemFailures == own.ReportBatchItemFailures && source.RetryAttempts == own.RetryAttempts && source.Target == own.Target
	changed.when(!same, "Configure: it changes the function, the report, retries, the age or the destination, or removes the pollers")
	changed.when(p.ClusterARN == "" && source.SourceAccessConfigurations == nil, "Configure: it must add the credentials or the VPC of self-managed brokers")
	changed.panic(f.scope, id)
	p.grant(f, source)
	awslambda.NewEventSourceMapping(f.scope, &id, source)
	f.watchLag(p.Lag)
	return failures
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
	cluster := p.ClusterARN == "" || *awscdk.Token_IsUnresolved(p.ClusterARN) || strings.Contains(p.ClusterARN, ":cluster/")
	found.when(!cluster, "ClusterARN: %q is not the ARN of a cluster", p.ClusterARN)
	found.when(p.Lag < 0, "Lag: %d is negative", p.Lag)
	found.when(!wholeSeconds(p.MaxAge, time.Minute, 7*day), "MaxAge: %s is not whole seconds, 1 min to 7 days", p.MaxAge)
	found.when(p.Retries < 1 || p.Retries > 10000, "Retries: %d is not 1 to 10,000", p.Retries)
	found.when(p.Topic == "", "Topic: it is required")
	found.when(p.TopicRetention != 0 && p.MaxAge >= p.TopicRetention,
		"MaxAge: %s is not less than the TopicRetention of %s; the topic may delete a record before it is given up", p.MaxAge, p.TopicRetention)
	found = append(found, f.refuseForgotten("the topic may deliver a record again", p.TopicRetention)...)
	return append(found, f.refuseLate("a record", p.MaxAge)...)
}
