package infra

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

const (
	clusterARN = "arn:aws:kafka:eu-west-1:111122223333:cluster/shop/a-1"
	brokerARN  = "arn:aws:mq:eu-west-1:111122223333:broker:shop:b-1"
	secretARN  = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:shop-AbCdEf"
)

// msk returns the props of a topic of an MSK cluster.
func msk(change func(*KafkaProps)) *KafkaProps {
	p := &KafkaProps{ClusterARN: clusterARN, Topic: "orders"}
	if change != nil {
		change(p)
	}
	return p
}

// scram adds credentials.
func scram(p *awslambda.EventSourceMappingProps) {
	p.SourceAccessConfigurations = &[]*awslambda.SourceAccessConfiguration{{
		Type: awslambda.SourceAccessConfigurationType_SASL_SCRAM_512_AUTH(), Uri: jsii.String(secretARN),
	}}
}

// permitted returns the actions that the function's role has on each resource, except on
// its table and queues.
func permitted(deployed template.Template) map[string]string {
	all := map[string]string{}
	for _, policy := range deployed.Resources("AWS::IAM::Policy") {
		for _, s := range inPolicy(policy) {
			if actions := fmt.Sprint(s["Action"]); !strings.Contains(actions, "dynamodb:") && !strings.Contains(actions, "sqs:") {
				all[fmt.Sprint(s["Resource"])] = actions
			}
		}
	}
	return all
}

const network = "[ec2:CreateNetworkInterface ec2:DeleteNetworkInterface ec2:DescribeNetworkInterfaces ec2:DescribeSecurityGroups ec2:DescribeSubnets ec2:DescribeVpcs]"

// Only a source with provisioned pollers takes the reports of handlers.Kafka.
func TestKafka(t *testing.T) {
	stack := newStack()
	newFunction(t, stack, longRecords).AddKafka("Orders", msk(nil))
	deployed := synth(t, stack)
	check.Equal(t, only(t, deployed, mappingType).Properties(), map[string]any{
		"BatchSize":                  100.0,
		"BisectBatchOnFunctionError": true,
		"DestinationConfig":          map[string]any{"OnFailure": map[string]any{"Destination": arn("FunctionOrdersFailures")}},
		"EventSourceArn":             clusterARN,
		"FunctionName":               ref("Function"),
		"FunctionResponseTypes":      []any{"ReportBatchItemFailures"},
		"MaximumRecordAgeInSeconds":  86400.0,
		"MaximumRetryAttempts":       10.0,
		"ProvisionedPollerConfig":    map[string]any{"MaximumPollers": 200.0, "MinimumPollers": 1.0},
		"StartingPosition":           "TRIM_HORIZON",
		"Topics":                     []any{"orders"},
	})
}

// Without credentials, MSK uses IAM.
func TestKafkaFunctionMayReadItsTopicAlone(t *testing.T) {
	const cluster = "[kafka:DescribeCluster kafka:DescribeClusterV2 kafka:GetBootstrapBrokers kafka:ListScramSecrets]"
	const read = "[kafka-cluster:AlterGroup kafka-cluster:Connect kafka-cluster:DescribeClusterDynamicConfiguration kafka-cluster:DescribeGroup kafka-cluster:DescribeTopic kafka-cluster:ReadData]"
	const topic = "arn:aws:kafka:eu-west-1:111122223333:topic/shop/a-1/orders"
	const group = "arn:aws:kafka:eu-west-1:111122223333:group/shop/a-1/"
	for name, c := range map[string]struct {
		change func(*KafkaProps)
		want   map[string]string
	}{
		"IAM": {nil, map[string]string{"*": network, clusterARN: cluster, fmt.Sprint([]string{clusterARN, topic, group + "*"}): read}},
		"IAM of a consumer group": {func(p *KafkaProps) {
			p.Configure = func(p *awslambda.EventSourceMappingProps) { p.KafkaConsumerGroupId = jsii.String("shop") }
		}, map[string]string{"*": network, clusterARN: cluster, fmt.Sprint([]string{clusterARN, topic, group + "shop"}): read}},
		"a secret": {func(p *KafkaProps) { p.Configure = scram }, map[string]string{"*": network, clusterARN: cluster}},
		"self-managed": {func(p *KafkaProps) {
			p.ClusterARN, p.BootstrapServers, p.Configure = "", []string{"kafka.example.com:9092"}, scram
		}, map[string]string{}},
		"self-managed in a VPC": {func(p *KafkaProps) {
			p.ClusterARN, p.BootstrapServers = "", []string{"kafka.example.com:9092"}
			p.Configure = func(p *awslambda.EventSourceMappingProps) {
				p.SourceAccessConfigurations = &[]*awslambda.SourceAccessConfiguration{{Type: awslambda.SourceAccessConfigurationType_VPC_SUBNET(), Uri: jsii.String("subnet-1")}}
			}
		}, map[string]string{"*": network}},
	} {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			newFunction(t, stack, longRecords).AddKafka("Orders", msk(c.change))
			check.Equal(t, permitted(synth(t, stack)), c.want)
		})
	}
}

func TestKafkaRefuses(t *testing.T) {
	wantRefusals(t, map[string]func(*KafkaProps){
		"":                                      func(p *KafkaProps) { p.TopicRetention = 28 * day },
		"BootstrapServers, ClusterARN: state":   func(p *KafkaProps) { p.BootstrapServers = []string{"a:9092"} },
		"Topic: it is required":                 func(p *KafkaProps) { p.Topic = "" },
		"may deliver a record again for 672h1m": func(p *KafkaProps) { p.TopicRetention = 28*day + time.Minute },
		"Configure: Minimum provisioned pollers": func(p *KafkaProps) {
			p.Configure = func(p *awslambda.EventSourceMappingProps) {
				p.ProvisionedPollerConfig.MinimumPollers = jsii.Number(300)
			}
		},
	}, func(change func(*KafkaProps)) {
		newFunction(t, newStack(), longRecords).AddKafka("Orders", msk(change))
	})
	// An ARN that is known only during the deployment is not compared.
	stack := newStack()
	later := awscdk.NewCfnParameter(stack, jsii.String("Cluster"), nil).ValueAsString()
	wantRefusal(t, "", func() {
		newFunction(t, stack, longRecords).AddKafka("Orders", &KafkaProps{ClusterARN: *later, Topic: "orders"})
	})
}

// A record in the failure queue can be sent again. Without pollers, Lambda takes reports for success.
func TestKafkaThatLosesRecordsIsFound(t *testing.T) {
	for words, c := range map[string]struct {
		retention time.Duration
		configure func(*awslambda.EventSourceMappingProps)
	}{
		"": {15 * day, nil}, "a record may come 360h0m0s late": {15*day - time.Second, nil},
		"it has no provisioned pollers": {15 * day, func(p *awslambda.EventSourceMappingProps) {
			*p = awslambda.EventSourceMappingProps{EventSourceArn: p.EventSourceArn, KafkaTopic: p.KafkaTopic, OnFailure: p.OnFailure, StartingPosition: p.StartingPosition, Target: p.Target}
		}},
	} {
		stack := newStack()
		newFunction(t, stack, func(p *IdempotentFunctionProps) { p.Retention = c.retention }).AddKafka("Orders", msk(func(p *KafkaProps) { p.Configure = c.configure }))
		wantFinding(t, words, stack)
	}
}

// Reports of failed records fail no invocation, and Kafka has no age of them.
func TestKafkaHasAnAlarmForRecordsThatWait(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, longRecords)
	f.AddKafka("Orders", msk(nil))
	NewAlarms(stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}})
	got := synth(t, stack).Resources()["AlarmsFunctionOffsetLag"].Properties()
	check.Equal(t, got["MetricName"], "OffsetLag")
	check.Equal(t, got["Threshold"], 10000.0)
	check.Equal(t, got["Statistic"], "Maximum")
}
