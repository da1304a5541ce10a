package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// newLogs creates a log group. If there is a key, it lets CloudWatch Logs use it for the
// log groups of the account, as CDK does not.
func newLogs(scope constructs.Construct, id string, ephemeral bool, retention awslogs.RetentionDays, key awskms.IKey) awslogs.LogGroup {
	stack := awscdk.Stack_Of(scope)
	groups := stack.FormatArn(&awscdk.ArnComponents{Service: jsii.String("logs"), Resource: jsii.String("*")})
	allowService(key, "logs."+*stack.Region()+".amazonaws.com", &map[string]any{"ArnLike": map[string]any{"kms:EncryptionContext:aws:logs:arn": groups}},
		"kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*")
	return awslogs.NewLogGroup(scope, &id, &awslogs.LogGroupProps{EncryptionKey: key, RemovalPolicy: removalPolicy(ephemeral), Retention: retention})
}

// allowSender lets a service send to queues and topics with a key. EventBridge supports no
// condition on the account, and the policies of the queues and topics have one.
func allowSender(key awskms.IKey, service string) {
	allowService(key, service+".amazonaws.com", nil, "kms:Decrypt", "kms:GenerateDataKey*")
}

// allowService changes the policy of a key, unless the key is nil or an import.
func allowService(key awskms.IKey, service string, when *map[string]any, actions ...string) {
	if key != nil {
		key.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
			Actions: jsii.Strings(actions...), Conditions: when, Principals: &[]awsiam.IPrincipal{awsiam.NewServicePrincipal(&service, nil)}, Resources: jsii.Strings("*"),
		}), nil)
	}
}

// refuseKey reports an alias, which CDK takes for a key.
func refuseKey(key awskms.IKey) (found problems) {
	_, alias := key.(awskms.IAlias)
	found.when(alias, "Key: it is an alias, whose ARN neither IAM nor CloudWatch Logs takes for that of its key; pass the key")
	return found
}
