package infra

import (
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/jsii-runtime-go"
)

// MQProps are the props of [IdempotentFunction.AddMQ]. BrokerARN, Queue and Secret
// are required; the zero value of every other field is its default.
type MQProps struct {
	// BrokerARN is the ARN of the broker.
	BrokerARN string

	// Queue is the name of the queue.
	Queue string

	// Secret contains the user name and the password of the broker.
	Secret awssecretsmanager.ISecret

	// Unconsumed is the longest time for which the broker keeps a message, with its
	// dead-letter queue if messages are sent back from there. The function's records
	// must live as long. Default: not declared, not checked. Brokers keep messages
	// without end by default.
	Unconsumed time.Duration

	// VirtualHost is that of the queue in RabbitMQ. Default: none, for ActiveMQ and
	// for "/" in RabbitMQ.
	VirtualHost string
}

// AddMQ feeds the function from a queue of an Amazon MQ broker, for
// handlers.ActiveMQ and handlers.RabbitMQ. Lambda takes no reports of single messages
// and has no failure destination: if one message fails, it delivers the whole batch
// again, and those that are done do not run again. ActiveMQ moves a message to the
// broker's dead-letter queue after six redeliveries. RabbitMQ delivers one until it
// expires. The batch size, 100 by default, can be set on the source that is returned.
//
// AddMQ panics with a [*PropsError] for a timeout of more than 14 min, and if the
// function's records may expire before Unconsumed has passed.
func (f *IdempotentFunction) AddMQ(id string, props *MQProps) awslambda.CfnEventSourceMapping {
	p := orZero(props)
	append(f.refuseBroker("Amazon MQ", id), p.refuse(f)...).panic(f.scope, id)
	access := []*awslambda.CfnEventSourceMapping_SourceAccessConfigurationProperty{{Type: jsii.String("BASIC_AUTH"), Uri: p.Secret.SecretArn()}}
	if p.VirtualHost != "" {
		access = append(access, &awslambda.CfnEventSourceMapping_SourceAccessConfigurationProperty{Type: jsii.String("VIRTUAL_HOST"), Uri: &p.VirtualHost})
	}
	p.Secret.GrantRead(f.Function, nil)
	allow(f.Function, []*string{&p.BrokerARN}, nil, "mq:DescribeBroker")
	f.grantNetwork()
	return awslambda.NewCfnEventSourceMapping(f.scope, &id, &awslambda.CfnEventSourceMappingProps{
		BatchSize: jsii.Number(f.batchSize(100)), EventSourceArn: p.BrokerARN, FunctionName: f.target().FunctionName(),
		Queues: jsii.Strings(p.Queue), SourceAccessConfigurations: access,
	})
}

func (p *MQProps) refuse(f *IdempotentFunction) (found problems) {
	broker := *awscdk.Token_IsUnresolved(p.BrokerARN) || strings.Contains(p.BrokerARN, ":broker:")
	found.when(!broker, "BrokerARN: %q is not the ARN of a broker", p.BrokerARN)
	found.when(p.Queue == "", "Queue: it is required")
	found.when(p.Secret == nil, "Secret: it is required")
	return append(found, f.refuseForgotten("the broker may deliver a message", p.Unconsumed)...)
}

// maxBrokerTime is the maximum timeout of a function behind Kafka or Amazon MQ, in the
// developer guide of Lambda.
const maxBrokerTime = 14 * time.Minute

// refuseBroker reports a function that may run longer than Lambda allows behind a
// broker, and an id that is taken.
func (f *IdempotentFunction) refuseBroker(source, id string) problems {
	found := append(f.refuseWait(source, maxBrokerTime), refuseID(f.scope, id, "")...)
	found.when(f.props.Timeout > maxBrokerTime, "Timeout: %s is longer than the %s that Lambda allows a function behind %s", f.props.Timeout, maxBrokerTime, source)
	return found
}

// refuseForgotten reports records that expire before an event that comes late.
func (f *IdempotentFunction) refuseForgotten(what string, late time.Duration) (found problems) {
	event, advice := f.props.store().expiry()
	found.when(f.props.Retention < late, "Retention: %s for %s, but %s after %s; %s", what, late, event, f.props.Retention, advice)
	return found
}

// grantNetwork allows Lambda to connect to brokers in a VPC.
func (f *IdempotentFunction) grantNetwork() {
	allow(f.Function, []*string{jsii.String("*")}, nil, "ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface",
		"ec2:DescribeNetworkInterfaces", "ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs")
}
