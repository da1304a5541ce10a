package infra

import (
	"debug/elf"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsecr"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/fake"
)

func configured(t *testing.T, stack awscdk.Stack, change func(*awslambda.FunctionProps)) *IdempotentFunction {
	t.Helper()
	return newFunction(t, stack, func(p *IdempotentFunctionProps) { p.Configure = change })
}

func TestConfigureHasTheLastHand(t *testing.T) {
	stack := newStack()
	key, vpc := customerKey(stack), awsec2.NewVpc(stack, jsii.String("VPC"), &awsec2.VpcProps{MaxAzs: jsii.Number(2), NatGateways: jsii.Number(0)})
	change := func(p *awslambda.FunctionProps) {
		(*p.Environment)["OTEL_SERVICE_NAME"] = jsii.String("orders")
		p.EnvironmentEncryption = key
		p.MemorySize, p.ReservedConcurrentExecutions, p.Timeout, p.Tracing = jsii.Number(512), jsii.Number(20), seconds(time.Minute), awslambda.Tracing_ACTIVE
		p.Vpc, p.VpcSubnets = vpc, &awsec2.SubnetSelection{SubnetType: awsec2.SubnetType_PRIVATE_ISOLATED}
	}
	configured(t, stack, change)
	newRelay(t, stack, func(p *RelayProps) { p.Configure = change })
	found := 0
	for _, f := range synth(t, stack).Functions() {
		if f.Properties["Runtime"] != "provided.al2023" {
			continue // of CDK
		}
		found++
		check.Equal(t, f.Properties["KmsKeyArn"], any(keyHere), f.ID)
		check.Equal(t, f.Properties["ReservedConcurrentExecutions"], any(20.0), f.ID)
		check.Equal(t, f.Properties["MemorySize"], any(512.0), f.ID)
		check.Equal(t, f.Properties["Timeout"], any(60.0), f.ID)
		check.Equal(t, f.Properties["TracingConfig"], any(map[string]any{"Mode": "Active"}), f.ID)
		check.Equal(t, len(f.Properties["VpcConfig"].(map[string]any)["SubnetIds"].([]any)), 2, f.ID)
		check.Contains(t, f.Properties["Environment"], "OTEL_SERVICE_NAME", f.ID)
	}
	check.Equal(t, found, 2)
}

func TestConfigureChoosesTheArchitecture(t *testing.T) {
	x86 := func(p *awslambda.FunctionProps) { p.Architecture = awslambda.Architecture_X86_64() }
	stack := newStack()
	newFunction(t, stack, func(p *IdempotentFunctionProps) {
		p.Code, p.Configure = t.TempDir(), x86
		check.Must(t, os.WriteFile(filepath.Join(p.Code, "bootstrap"), fake.Program(elf.EM_X86_64), 0o755))
	})
	check.Equal(t, only(t, synth(t, stack), "AWS::Lambda::Function").Properties()["Architectures"], any([]any{"x86_64"}))
	wantRefusal(t, "not a program for x86_64 (EM_AARCH64); build it with GOOS=linux GOARCH=amd64", func() { configured(t, newStack(), x86) })
}

// image replaces the code by an image.
func image(stack awscdk.Stack) func(*awslambda.FunctionProps) {
	return func(p *awslambda.FunctionProps) {
		p.Code = awslambda.Code_FromEcrImage(awsecr.NewRepository(stack, jsii.String("Images"), nil), nil)
		p.Handler, p.Runtime = awslambda.Handler_FROM_IMAGE(), awslambda.Runtime_FROM_IMAGE()
	}
}

func TestConfigureReplacesTheCodeByAnImage(t *testing.T) {
	stack := newStack()
	newFunction(t, stack, func(p *IdempotentFunctionProps) { p.Code, p.Configure = "", image(stack) })
	p := only(t, synth(t, stack), "AWS::Lambda::Function").Properties()
	check.Equal(t, p["PackageType"], "Image")
	check.Equal(t, p["Handler"], nil)
}

// CDK attaches the policy for logs only to a role that it creates.
func TestRoleOfATeamMayWriteLogs(t *testing.T) {
	stack := newStack()
	role := newRole(stack)
	configured(t, stack, func(p *awslambda.FunctionProps) { p.Role = role })
	check.Contains(t, only(t, synth(t, stack), "AWS::IAM::Policy"), "logs:PutLogEvents")
}

func TestLogGroupOfATeamReplacesOurs(t *testing.T) {
	stack := newStack()
	configured(t, stack, func(p *awslambda.FunctionProps) {
		p.LogGroup = awslogs.NewLogGroup(stack, jsii.String("Encrypted"), &awslogs.LogGroupProps{EncryptionKey: customerKey(stack)})
	})
	check.Equal(t, synth(t, stack).IDs("AWS::Logs::LogGroup"), []string{"Encrypted"})
}

func TestConfigureRefuses(t *testing.T) {
	wantRefusals(t, map[string]func(*awslambda.FunctionProps){
		"changes Code; leave the prop Code empty": func(p *awslambda.FunctionProps) { p.Code = awslambda.Code_FromInline(jsii.String("x")) },
		"Code: it is required":                    nil,
		"changes DurableConfig; set":              func(p *awslambda.FunctionProps) { p.DurableConfig = &awslambda.DurableConfig{} },
		"is reserved by the lambda runtime":       func(p *awslambda.FunctionProps) { (*p.Environment)["AWS_REGION"] = jsii.String("x") },
	}, func(change func(*awslambda.FunctionProps)) {
		newFunction(t, newStack(), func(p *IdempotentFunctionProps) {
			if p.Configure = change; change == nil {
				p.Code, p.Configure = "", func(*awslambda.FunctionProps) {}
			}
		})
	})
	wantRefusal(t, "changes CurrentVersionOptions; it keeps", func() {
		newFunction(t, newStack(), func(p *IdempotentFunctionProps) {
			p.Durable = &DurableOptions{ExecutionTimeout: time.Hour}
			p.Configure = func(p *awslambda.FunctionProps) { p.CurrentVersionOptions = nil }
		})
	})
}

// CDK refuses props in words of its own, with a panic that is no error.
func TestPropsThatCDKRefusesAreRefused(t *testing.T) {
	for _, options := range []*DurableOptions{nil, {ExecutionTimeout: time.Minute}} {
		wantRefusal(t, "Configure: ", func() {
			newFunction(t, newStack(), func(p *IdempotentFunctionProps) {
				p.Configure, p.Durable = func(f *awslambda.FunctionProps) { f.AllowAllOutbound = jsii.Bool(true) }, options // without a VPC
			})
		})
	}
}
