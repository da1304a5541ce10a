package infra

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/jsii-runtime-go"
)

// AccessOptions state how functions reach the server of a [PostgresStore] or a
// [RedisStore], and log in. VPC and one of Secret and User are required; the zero value of
// every other field is its default.
type AccessOptions struct {
	// Secret is JSON with username and password, as RDS writes it. Functions may read it.
	// From a VPC, they need a NAT or the interface endpoint of Secrets Manager.
	Secret awssecretsmanager.ISecret

	// SecurityGroup is that of the server. It is opened for the functions, unless it is
	// imported as immutable. Default: that of the construct of the server.
	SecurityGroup awsec2.ISecurityGroup

	// Subnets are those of the functions. Default: the private ones, or the isolated ones
	// of a VPC without.
	Subnets *awsec2.SubnetSelection

	// User is the user to which IAM gives access. Functions then sign tokens in place of
	// passwords, which needs no endpoint.
	User string

	// VPC is that of the functions, from which the server is reached. Each function that
	// this package creates has a security group of its own. It is refused with DSQL.
	VPC awsec2.IVpc
}

// An access is the way to a server.
type access struct {
	AccessOptions
	server awsec2.IConnectable // nil for a server that is reached without a VPC
	port   *float64
}

func newAccess(options *AccessOptions, server awsec2.IConnectable, port *float64) access {
	a := access{orZero(options), server, port}
	if a.SecurityGroup != nil {
		a.server = a.SecurityGroup
	}
	return a
}

// refuseAccess reports a server that no function can reach, or log in to.
func (a *access) refuseAccess() (found problems) {
	found.when((a.Secret == nil) == (a.User == ""), "Access: state one of Secret, and User for IAM")
	found.when(a.server == nil || len(*a.server.Connections().SecurityGroups()) == 0,
		"Access: SecurityGroup is required, because the server is an import that hides its own")
	if a.VPC == nil {
		found.when(true, "Access: VPC is required; the server is reached only from within")
		return found
	}
	var public bool
	refused := attempt(func() { public = *a.VPC.SelectSubnets(a.Subnets).HasPublic })
	found.when(refused != "", "Access: Subnets: %s", refused)
	found.when(public, "Access: Subnets has a public one, in which a function reaches neither the internet nor AWS; select private or isolated ones")
	return found
}

// configure puts a function that this package creates into the VPC.
func (a *access) configure(props *awslambda.FunctionProps) {
	if a.server != nil {
		props.Vpc, props.VpcSubnets = a.VPC, a.Subnets
	}
}

// open opens the server for a function, and lets it read the secret or log in with IAM.
func (a *access) open(function awslambda.IFunction, action string, on ...*string) {
	if a.server != nil {
		var found problems
		client := unqualified(function)
		found.when(!*client.IsBoundToVpc(),
			"function: it is in no VPC, and cannot reach the store; put it into one, and import a function with its SecurityGroup")
		found.panic(function, "")
		a.server.Connections().AllowFrom(client, awsec2.Port_Tcp(a.port), jsii.String("Records of "+*client.Node().Path()))
	}
	if a.Secret != nil {
		effective(function, a.Secret.GrantRead(function, nil))
		return
	}
	allow(function, on, nil, action)
}

// unqualified returns the function of an alias or a version, whose security group CDK does
// not tell.
func unqualified(function awslambda.IFunction) awslambda.IFunction {
	switch qualified := function.(type) {
	case awslambda.IAlias:
		return qualified.Version().Lambda()
	case awslambda.IVersion:
		return qualified.Lambda()
	}
	return function
}

func (a *access) portText() *string { return awscdk.Tokenization_StringifyNumber(a.port) }

// attempt returns the words with which CDK refuses a call, or "".
func attempt(call func()) (refused string) {
	defer func() {
		if r := recover(); r != nil {
			refused = fmt.Sprint(r)
		}
	}()
	call()
	return ""
}
