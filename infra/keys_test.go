package infra

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

func ownKey(stack awscdk.Stack) awskms.Key { return awskms.NewKey(stack, jsii.String("Key"), nil) }

// users returns the actions that the policy of the key allows services of AWS.
func users(t *testing.T, deployed template.Template) map[string]string {
	t.Helper()
	allowed := map[string]string{}
	policy := only(t, deployed, "AWS::KMS::Key").Properties()["KeyPolicy"].(map[string]any)
	for _, s := range policy["Statement"].([]any) {
		statement := s.(map[string]any)
		if service, ok := statement["Principal"].(map[string]any)["Service"]; ok {
			allowed[fmt.Sprint(service)] = fmt.Sprint(statement["Action"], " ", statement["Condition"])
		}
	}
	return allowed
}

// An event is lost if its sender may not use the key of the failure queue.
func TestKeyEncryptsWhatAFunctionCreates(t *testing.T) {
	const sends = "[kms:Decrypt kms:GenerateDataKey*] <nil>"
	for name, source := range sources() {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			source.add(newFunction(t, stack, func(p *IdempotentFunctionProps) { p.Key, p.Retention = ownKey(stack), 400*day }))
			deployed := synth(t, stack)
			for id, queue := range deployed.Resources("AWS::SQS::Queue") {
				check.Equal(t, queue.Properties()["KmsMasterKeyId"], any(arn("Key")), id)
			}
			for id, logs := range deployed.Resources("AWS::Logs::LogGroup") {
				check.Equal(t, logs.Properties()["KmsKeyId"], any(arn("Key")), id)
			}
			want := map[string]string{
				"logs.eu-west-1.amazonaws.com": "[kms:Decrypt kms:DescribeKey kms:Encrypt kms:GenerateDataKey* kms:ReEncrypt*] " +
					"map[ArnLike:map[kms:EncryptionContext:aws:logs:arn:map[Fn::Join:[ [arn: map[Ref:AWS::Partition] :logs:eu-west-1:111122223333:*]]]]]",
			}
			if source.age > 0 {
				want["events.amazonaws.com"], want["sns.amazonaws.com"] = sends, sends
			}
			check.Equal(t, users(t, deployed), want)
			function := ""
			for _, f := range deployed.Functions() {
				function += fmt.Sprint(f.Statements)
			}
			check.Equal(t, strings.Contains(function, "kms:Decrypt"), len(deployed.IDs("AWS::SQS::Queue")) > 0, "the function may use the key of its queues")
		})
	}
}

func TestKeyEncryptsLogsAndFailuresOfARelay(t *testing.T) {
	stack := newStack()
	newRelay(t, stack, func(p *RelayProps) { p.Key = ownKey(stack) })
	deployed := synth(t, stack)
	check.Equal(t, only(t, deployed, "AWS::SQS::Queue").Properties()["KmsMasterKeyId"], any(arn("Key")))
	check.Equal(t, only(t, deployed, "AWS::Logs::LogGroup").Properties()["KmsKeyId"], any(arn("Key")))
	check.Contains(t, deployed.Functions()[0].Statements, "kms:GenerateDataKey*")
}

// Alarms cannot publish to a topic whose key they may not use.
func TestAlarmsMayUseTheKeyOfTheirTopic(t *testing.T) {
	stack := newStack()
	NewAlarmTopic(stack, "OnCall", &AlarmTopicProps{Key: ownKey(stack)})
	deployed := synth(t, stack)
	check.Equal(t, only(t, deployed, "AWS::SNS::Topic").Properties()["KmsMasterKeyId"], any(arn("Key")))
	check.Equal(t, users(t, deployed), map[string]string{"cloudwatch.amazonaws.com": "[kms:Decrypt kms:GenerateDataKey*] <nil>"})
}

// Neither a policy of IAM nor a log group takes the ARN of an alias for that of its key.
func TestAliasOfAKeyIsRefused(t *testing.T) {
	wantRefusals(t, map[string]func(awscdk.Stack, awskms.IKey){
		"Key: it is an alias": func(s awscdk.Stack, key awskms.IKey) {
			newFunction(t, s, func(p *IdempotentFunctionProps) { p.Key = key })
		},
		"Key: it is an alias,": func(s awscdk.Stack, key awskms.IKey) {
			Protect(s, "Orders", ownFunction(t, s), &ProtectProps{Key: key, Table: NewIdempotencyTable(s, "Table", nil)})
		},
		"Key: it is an alias, ":              func(s awscdk.Stack, key awskms.IKey) { newRelay(t, s, func(p *RelayProps) { p.Key = key }) },
		"Key: it is an alias, whose ARN":     func(s awscdk.Stack, key awskms.IKey) { NewIdempotencyTable(s, "T", &IdempotencyTableProps{Key: key}) },
		"Key: it is an alias, whose ARN nei": func(s awscdk.Stack, key awskms.IKey) { NewOutbox(s, "T", &OutboxProps{Key: key}) },
		"Key: it is an alias, whose":         func(s awscdk.Stack, key awskms.IKey) { NewAlarmTopic(s, "T", &AlarmTopicProps{Key: key}) },
	}, func(construct func(awscdk.Stack, awskms.IKey)) {
		stack := newStack()
		construct(stack, ownKey(stack).AddAlias(jsii.String("alias/orders")))
	})
	stack := newStack()
	wantRefusal(t, "Key: it is an alias", func() {
		NewAlarmTopic(stack, "T", &AlarmTopicProps{Key: awskms.Alias_FromAliasName(stack, jsii.String("Alias"), jsii.String("alias/orders"))})
	})
}
