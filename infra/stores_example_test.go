package infra_test

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsrds"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra"
)

// A function whose records are in a database that exists, behind RDS Proxy, and the sweep
// of its table.
func ExampleNewPostgresStore() {
	app := awscdk.NewApp(nil)
	stack := awscdk.NewStack(app, jsii.String("Shop"), &awscdk.StackProps{Env: &awscdk.Environment{
		Account: jsii.String("111122223333"), Region: jsii.String("eu-west-1"), // Vpc_FromLookup needs them
	}})
	vpc := awsec2.Vpc_FromLookup(stack, jsii.String("VPC"), &awsec2.VpcLookupOptions{VpcName: jsii.String("shop")})
	group := awsec2.SecurityGroup_FromSecurityGroupId(stack, jsii.String("ProxyGroup"), jsii.String("sg-0123456789abcdef0"), nil)
	proxy := awsrds.DatabaseProxy_FromDatabaseProxyAttributes(stack, jsii.String("Proxy"), &awsrds.DatabaseProxyAttributes{
		DbProxyArn:     jsii.String("arn:aws:rds:eu-west-1:111122223333:db-proxy:prx-0123456789abcdef0"),
		DbProxyName:    jsii.String("shop"),
		Endpoint:       jsii.String("shop.proxy-abcdefghijkl.eu-west-1.rds.amazonaws.com"),
		SecurityGroups: &[]awsec2.ISecurityGroup{group},
	})

	store := infra.NewPostgresStore(stack, "Records", &infra.PostgresStoreProps{
		Database:     "shop",
		Endpoint:     awsrds.NewEndpoint(proxy.Endpoint(), jsii.Number(5432)),
		GrantConnect: proxy.GrantConnect,
		Server:       group,
		User:         "once",
	})
	inVPC := func(p *awslambda.FunctionProps) { p.Vpc = vpc }
	infra.NewIdempotentFunction(stack, "Transfer", &infra.IdempotentFunctionProps{
		Code:      "build/transfer/bootstrap.zip",
		Configure: inVPC,
		Postgres:  store,
	})

	onCall := infra.NewAlarmTopic(stack, "OnCall", nil)
	infra.NewSweep(stack, "Sweep", &infra.SweepProps{
		Code:      "build/sweep/bootstrap.zip",
		Configure: inVPC,
		Notify:    []awssns.ITopic{onCall},
		Postgres:  store,
	})
}

// A function whose records are on a cluster of MemoryDB.
func ExampleNewRedisStore() {
	app := awscdk.NewApp(nil)
	stack := awscdk.NewStack(app, jsii.String("Receipts"), nil)
	vpc := awsec2.Vpc_FromVpcAttributes(stack, jsii.String("VPC"), &awsec2.VpcAttributes{
		AvailabilityZones: jsii.Strings("eu-west-1a"), PrivateSubnetIds: jsii.Strings("subnet-0123456789abcdef0"), VpcId: jsii.String("vpc-0123456789abcdef0"),
	})
	group := awsec2.SecurityGroup_FromSecurityGroupId(stack, jsii.String("ServerGroup"), jsii.String("sg-0123456789abcdef0"), nil)

	store := infra.NewRedisStore(stack, "Records", &infra.RedisStoreProps{
		Host:     "clustercfg.receipts.abcdef.memorydb.eu-west-1.amazonaws.com",
		MemoryDB: "receipts",
		Server:   group,
		User:     "once",
	})
	infra.NewIdempotentFunction(stack, "Receipts", &infra.IdempotentFunctionProps{
		Code:      "build/receipts/bootstrap.zip",
		Configure: func(p *awslambda.FunctionProps) { p.Vpc = vpc },
		Redis:     store,
	})
}
