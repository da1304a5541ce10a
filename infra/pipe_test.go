package infra

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awspipes"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
)

func newPipe(stack awscdk.Stack, queue awssqs.IQueue, function awslambda.IFunction) {
	role := awsiam.NewRole(stack, jsii.String("PipeRole"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("pipes.amazonaws.com"), nil),
	})
	queue.GrantConsumeMessages(role)
	function.GrantInvoke(role)
	awspipes.NewCfnPipe(stack, jsii.String("Pipe"), &awspipes.CfnPipeProps{
		RoleArn: role.RoleArn(),
		Source:  queue.QueueArn(),
		Target:  function.FunctionArn(),
		TargetParameters: &awspipes.CfnPipe_PipeTargetParametersProperty{
			LambdaFunctionParameters: &awspipes.CfnPipe_PipeTargetLambdaFunctionParametersProperty{
				InvocationType: jsii.String("REQUEST_RESPONSE"), // with FIRE_AND_FORGET, reports are ignored
			},
		},
	})
}

// The pipe of docs/deploy-sources.md waits for the report of the function.
func TestPipe(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, longRecords)
	newPipe(stack, awssqs.NewQueue(stack, jsii.String("Orders"), nil), f.target())
	pipe := only(t, synth(t, stack), "AWS::Pipes::Pipe").Properties()
	check.Equal(t, pipe["Source"], arn("Orders"))
	check.Equal(t, pipe["Target"], arn("Function"))
	check.Equal(t, pipe["TargetParameters"], map[string]any{"LambdaFunctionParameters": map[string]any{"InvocationType": "REQUEST_RESPONSE"}})
}
