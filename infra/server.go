package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/jsii-runtime-go"
)

// A server is one in a VPC with records, and how functions log in to it.
type server struct {
	of     awsec2.IConnectable // nil for a server that is reached without a VPC
	port   *float64
	secret awssecretsmanager.ISecret
	user   string
}

// refuse reports a server that no function can reach, or log in to.
func (s *server) refuse() (found problems) {
	found.when((s.secret == nil) == (s.user == ""), "Secret, User: state one of them; a User logs in with IAM")
	found.when(s.of == nil || len(*s.of.Connections().SecurityGroups()) == 0,
		"Server: it is required, and an import hides its security group; pass the security group")
	return found
}

// open opens the server for a function, and lets it read the secret.
func (s *server) open(function awslambda.IFunction) {
	if s.of != nil {
		var found problems
		client := unqualified(function)
		found.when(!*client.IsBoundToVpc(),
			"function: it is in no VPC, and cannot reach the store; put it into one with Configure, and import a function with its SecurityGroup")
		found.panic(function, "")
		s.of.Connections().AllowFrom(client, awsec2.Port_Tcp(s.port), jsii.String("Records of "+*client.Node().Path()))
	}
	if s.secret != nil {
		effective(function, s.secret.GrantRead(function, nil))
	}
}

func (s *server) portText() *string { return awscdk.Tokenization_StringifyNumber(s.port) }

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
