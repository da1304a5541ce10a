package infra

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
)

// A site is the VPC of a team with its servers.
type site struct {
	stack  awscdk.Stack
	vpc    awsec2.IVpc
	group  awsec2.ISecurityGroup // of the server
	secret awssecretsmanager.ISecret
}

func newSite(t *testing.T) site {
	t.Helper()
	stack := newStack()
	return site{
		stack: stack,
		vpc: awsec2.Vpc_FromVpcAttributes(stack, jsii.String("VPC"), &awsec2.VpcAttributes{
			AvailabilityZones: jsii.Strings("eu-west-1a", "eu-west-1b"), VpcId: jsii.String("vpc-11111111"),
			PrivateSubnetIds: jsii.Strings("subnet-11111111", "subnet-22222222"), PublicSubnetIds: jsii.Strings("subnet-33333333", "subnet-44444444"),
		}),
		group:  awsec2.SecurityGroup_FromSecurityGroupId(stack, jsii.String("Group"), jsii.String("sg-11111111"), nil),
		secret: awssecretsmanager.Secret_FromSecretNameV2(stack, jsii.String("Secret"), jsii.String("once")),
	}
}

// inVPC puts a function into the VPC.
func (s site) inVPC(p *awslambda.FunctionProps) { p.Vpc = s.vpc }

// A connected function has these variables, permissions and ingress.
type connected struct{ variables, statements, ingress string }

// connect returns how a function of a store is connected.
func connect(t *testing.T, s site, p *IdempotentFunctionProps) connected {
	t.Helper()
	p.Code, p.Configure = zip(t), s.inVPC
	NewIdempotentFunction(s.stack, "Function", p)
	deployed := synth(t, s.stack)
	function := only(t, deployed, "AWS::Lambda::Function").Properties()
	all := function["Environment"].(map[string]any)["Variables"].(map[string]any)
	var variables []string
	for name, value := range all {
		if name != "AWS_LAMBDA_LOG_LEVEL" {
			variables = append(variables, fmt.Sprintf("%s=%v", name, value))
		}
	}
	slices.Sort(variables)
	c := connected{variables: strings.Join(variables, " ")}
	for _, policy := range deployed.Resources("AWS::IAM::Policy") {
		for _, statement := range inPolicy(policy) {
			c.statements += fmt.Sprint(statement["Action"], " on ", statement["Resource"])
		}
	}
	for _, ingress := range deployed.Resources("AWS::EC2::SecurityGroupIngress") {
		p := ingress.Properties()
		c.ingress += fmt.Sprint(p["GroupId"], " ", p["FromPort"], "-", p["ToPort"], " from ", p["SourceSecurityGroupId"])
	}
	return c
}

func TestNilPropsOfStoresAreRefused(t *testing.T) {
	stack := newStack()
	refused := refusal(t, func() { NewPostgresStore(stack, "Store", nil) })
	check.Contains(t, refused, "Database: it is required; DSQL, Endpoint: state one of them")
	refused = refusal(t, func() { NewRedisStore(stack, "Store", nil) })
	check.Contains(t, refused, "Host: it is required; MemoryDB, ReplicationGroup: state one of them; ")
}

func TestStoresOfServersExcludeExecute(t *testing.T) {
	s := newSite(t)
	for name, p := range map[string]*IdempotentFunctionProps{
		"PostgreSQL": {Postgres: NewPostgresStore(s.stack, "Postgres", s.postgres())}, "Redis": {Redis: NewRedisStore(s.stack, "Redis", s.redis(nil))},
	} {
		p.Code, p.Execute = zip(t), &ExecuteOptions{}
		wantRefusal(t, "Execute: it is for a Table; in "+name, func() { NewIdempotentFunction(s.stack, "On"+name, p) })
	}
}

func TestProtectedFunctionReachesTheServerFromItsVPC(t *testing.T) {
	s := newSite(t)
	code := zip(t)
	inVPC := awslambda.NewFunction(s.stack, jsii.String("In"), &awslambda.FunctionProps{
		Code: awslambda.Code_FromAsset(&code, nil), Handler: jsii.String("bootstrap"), Runtime: awslambda.Runtime_PROVIDED_AL2023(), Vpc: s.vpc,
	})
	store := NewPostgresStore(s.stack, "Store", s.postgres())
	alias := awslambda.NewAlias(s.stack, jsii.String("Alias"), &awslambda.AliasProps{AliasName: jsii.String("live"), Version: inVPC.CurrentVersion()})
	for name, value := range store.variables() { // those of an alias are the user's
		inVPC.AddEnvironment(&name, value, nil)
	}
	Protect(s.stack, "OnAlias", alias, &ProtectProps{Postgres: store})
	wantRefusal(t, "function: it is in no VPC", func() { Protect(s.stack, "Out", ownFunction(t, s.stack), &ProtectProps{Postgres: store}) })
	imported := awslambda.Function_FromFunctionAttributes(s.stack, jsii.String("Import"), &awslambda.FunctionAttributes{
		FunctionArn: jsii.String(functionARN), Role: newRole(s.stack), SameEnvironment: jsii.Bool(true),
		SecurityGroup: awsec2.SecurityGroup_FromSecurityGroupId(s.stack, jsii.String("Own2"), jsii.String("sg-22222222"), nil),
	})
	Protect(s.stack, "OnImport", imported, &ProtectProps{Postgres: store, Timeout: 10e9})
	var from []string
	for _, ingress := range synth(t, s.stack).Resources("AWS::EC2::SecurityGroupIngress") {
		from = append(from, fmt.Sprint(ingress.Properties()["SourceSecurityGroupId"]))
	}
	slices.Sort(from)
	check.Equal(t, fmt.Sprint(from), "[map[Fn::GetAtt:[InSecurityGroup GroupId]] sg-22222222]")
}
