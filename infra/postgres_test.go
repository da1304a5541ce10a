package infra

import (
	"fmt"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsrds"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
)

func (s site) instance(change func(*awsrds.DatabaseInstanceAttributes)) awsrds.IDatabaseInstance {
	attributes := &awsrds.DatabaseInstanceAttributes{
		InstanceEndpointAddress: jsii.String("db.example.com"), InstanceIdentifier: jsii.String("db"), InstanceResourceId: jsii.String("db-ID"),
		Port: jsii.Number(5433), SecurityGroups: &[]awsec2.ISecurityGroup{s.group},
	}
	if change != nil {
		change(attributes)
	}
	id := fmt.Sprint("Instance", len(*s.stack.Node().Children())) // it may replace a first one
	return awsrds.DatabaseInstance_FromDatabaseInstanceAttributes(s.stack, &id, attributes)
}

func (s site) cluster(change func(*awsrds.DatabaseClusterAttributes)) awsrds.IDatabaseCluster {
	attributes := &awsrds.DatabaseClusterAttributes{
		ClusterEndpointAddress: jsii.String("cluster.example.com"), ClusterIdentifier: jsii.String("c"), ClusterResourceIdentifier: jsii.String("cluster-ID"),
		Port: jsii.Number(5432), SecurityGroups: &[]awsec2.ISecurityGroup{s.group},
	}
	if change != nil {
		change(attributes)
	}
	return awsrds.DatabaseCluster_FromDatabaseClusterAttributes(s.stack, jsii.String("Cluster"), attributes)
}

func (s site) proxy() awsrds.IDatabaseProxy {
	return awsrds.DatabaseProxy_FromDatabaseProxyAttributes(s.stack, jsii.String("Proxy"), &awsrds.DatabaseProxyAttributes{
		DbProxyArn: jsii.String("arn:aws:rds:eu-west-1:111122223333:db-proxy:prx-ID"), DbProxyName: jsii.String("p"),
		Endpoint: jsii.String("proxy.example.com"), SecurityGroups: &[]awsec2.ISecurityGroup{s.group},
	})
}

// newCluster is a cluster of the app.
func (s site) newCluster(version awsrds.AuroraPostgresEngineVersion, iam *bool) awsrds.DatabaseCluster {
	return awsrds.NewDatabaseCluster(s.stack, jsii.String("New"), &awsrds.DatabaseClusterProps{
		Engine:            awsrds.DatabaseClusterEngine_AuroraPostgres(&awsrds.AuroraPostgresClusterEngineProps{Version: version}),
		IamAuthentication: iam, Vpc: s.vpc, VpcSubnets: &awsec2.SubnetSelection{SubnetType: awsec2.SubnetType_PRIVATE_WITH_EGRESS},
		Writer: awsrds.ClusterInstance_ServerlessV2(jsii.String("Writer"), nil),
	})
}

const (
	bundle  = "/var/task/global-bundle.pem"
	dsqlARN = "arn:aws:dsql:eu-west-1:111122223333:cluster/abc"
)

func TestPostgresStoreConnectsAFunction(t *testing.T) {
	const secretARN = "map[Fn::Join:[ [arn: map[Ref:AWS::Partition] :secretsmanager:eu-west-1:111122223333:secret:once]]]"
	const readSecret = "[secretsmanager:GetSecretValue secretsmanager:DescribeSecret] on map[Fn::Join:[ [arn: map[Ref:AWS::Partition] :secretsmanager:eu-west-1:111122223333:secret:once-??????]]]"
	user := func(id string) string {
		return "rds-db:connect on map[Fn::Join:[ [arn: map[Ref:AWS::Partition] :rds-db:eu-west-1:111122223333:dbuser:" + id + "/once]]]"
	}
	const from = " from map[Fn::GetAtt:[FunctionSecurityGroup GroupId]]"
	for name, c := range map[string]struct {
		props func(site) *PostgresStoreProps
		want  connected
	}{
		"an instance, with a secret": {
			func(s site) *PostgresStoreProps {
				return &PostgresStoreProps{Access: s.withSecret(), CABundle: bundle, Instance: s.instance(nil)}
			},
			connected{"DATABASE_SECRET=" + secretARN + " IDEMPOTENCY_TABLE=idempotency PGDATABASE=shop PGHOST=db.example.com PGPORT=5433 PGSSLMODE=verify-full PGSSLROOTCERT=" + bundle,
				readSecret, "sg-11111111 5433-5433" + from},
		},
		"a cluster, with IAM": {
			func(s site) *PostgresStoreProps {
				return &PostgresStoreProps{Access: s.withIAM(), CABundle: bundle, Cluster: s.cluster(nil), Table: "records"}
			},
			connected{"DATABASE_IAM=rds-db IDEMPOTENCY_TABLE=records PGDATABASE=shop PGHOST=cluster.example.com PGPORT=5432 PGSSLMODE=verify-full PGSSLROOTCERT=" + bundle + " PGUSER=once",
				user("cluster-ID"), "sg-11111111 5432-5432" + from},
		},
		"an imported proxy, with IAM": {
			func(s site) *PostgresStoreProps {
				p := &PostgresStoreProps{Access: s.withIAM(), Proxy: s.proxy()}
				p.Access.SecurityGroup = s.group
				return p
			},
			connected{"DATABASE_IAM=rds-db IDEMPOTENCY_TABLE=idempotency PGDATABASE=shop PGHOST=proxy.example.com PGPORT=5432 PGSSLMODE=verify-full PGUSER=once",
				user("prx-ID"), "sg-11111111 5432-5432" + from},
		},
		"DSQL": {
			func(s site) *PostgresStoreProps {
				return &PostgresStoreProps{Access: &AccessOptions{User: "once"}, DSQL: dsqlARN}
			},
			connected{"DATABASE_IAM=dsql IDEMPOTENCY_TABLE=idempotency PGDATABASE=shop PGHOST=abc.dsql.eu-west-1.on.aws PGPORT=5432 PGSSLMODE=verify-full PGUSER=once",
				"dsql:DbConnect on " + dsqlARN, ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			props := c.props(s)
			props.Database = "shop"
			got, deployed := connect(t, s, func(p *IdempotentFunctionProps) { p.Postgres = NewPostgresStore(s.stack, "Store", props) })
			check.Equal(t, got.variables, c.want.variables)
			check.Equal(t, got.statements, c.want.statements)
			check.Equal(t, got.ingress, c.want.ingress)
			var subnets any
			if props.DSQL == "" {
				subnets = []any{"subnet-11111111", "subnet-22222222"}
			}
			network, _ := only(t, deployed, "AWS::Lambda::Function").Properties()["VpcConfig"].(map[string]any)
			check.Equal(t, network["SubnetIds"], subnets)
		})
	}
}

// The endpoint, its port and the identifier are known only during the deployment.
func TestPostgresStoreTakesTokens(t *testing.T) {
	s := newSite(t)
	cluster := s.newCluster(awsrds.AuroraPostgresEngineVersion_VER_16_4(), jsii.Bool(true))
	got, _ := connect(t, s, func(p *IdempotentFunctionProps) {
		p.Postgres = NewPostgresStore(s.stack, "Store", &PostgresStoreProps{Access: s.withIAM(), CABundle: bundle, Cluster: cluster, Database: "shop"})
	})
	check.Contains(t, got.variables, "PGHOST=map[Fn::GetAtt:[New Endpoint.Address]]")
	check.Contains(t, got.variables, "PGPORT=map[Fn::GetAtt:[New Endpoint.Port]]")
	check.Contains(t, got.statements, "map[Fn::GetAtt:[New DBClusterResourceId]] once")
	check.Contains(t, got.ingress, "map[Fn::GetAtt:[NewSecurityGroup GroupId]] map[Fn::GetAtt:[New Endpoint.Port]]")
}

func TestPostgresStoreRefuses(t *testing.T) {
	hidden := func(a *awsrds.DatabaseInstanceAttributes) { a.InstanceResourceId = nil }
	wantRefusals(t, map[string]func(site, *PostgresStoreProps){
		"":                         func(site, *PostgresStoreProps) {},
		"Database: it is required": func(_ site, p *PostgresStoreProps) { p.Database = "" },
		"Cluster, DSQL, Instance, Proxy: state one of them, and not 0":                     func(_ site, p *PostgresStoreProps) { p.Instance = nil },
		"Cluster, DSQL, Instance, Proxy: state one of them, and not 2":                     func(s site, p *PostgresStoreProps) { p.DSQL = dsqlARN },
		"Access: state one of Secret, and User for IAM":                                    func(_ site, p *PostgresStoreProps) { p.Access.Secret = nil },
		"Access: state one of Secret, and User":                                            func(_ site, p *PostgresStoreProps) { p.Access.User = "once" },
		"Access: VPC is required":                                                          func(_ site, p *PostgresStoreProps) { p.Access.VPC = nil },
		"CABundle: it is required":                                                         func(_ site, p *PostgresStoreProps) { p.CABundle = "" },
		`CABundle: "global-bundle.pem" is no path from /`:                                  func(_ site, p *PostgresStoreProps) { p.CABundle = "global-bundle.pem" },
		"Access: User needs the resource identifier of the server, which the import hides": func(s site, p *PostgresStoreProps) { p.Access, p.Instance = s.withIAM(), s.instance(hidden) },
		"Access: SecurityGroup is required, because the server is an import that hides its own": func(s site, p *PostgresStoreProps) {
			p.Instance = s.instance(func(a *awsrds.DatabaseInstanceAttributes) { a.SecurityGroups = &[]awsec2.ISecurityGroup{} })
		},
		"SecurityGroup is required": func(s site, p *PostgresStoreProps) { p.Instance, p.Proxy = nil, s.proxy() },
		"Cluster: it is imported without ClusterEndpointAddress": func(s site, p *PostgresStoreProps) {
			p.Instance, p.Cluster = nil, s.cluster(func(a *awsrds.DatabaseClusterAttributes) { a.ClusterEndpointAddress = nil })
		},
		"mysql is not PostgreSQL": func(s site, p *PostgresStoreProps) {
			p.Instance = s.instance(func(a *awsrds.DatabaseInstanceAttributes) {
				a.Engine = awsrds.DatabaseInstanceEngine_MYSQL()
			})
		},
		"version 13 is older than 15": func(s site, p *PostgresStoreProps) {
			p.Instance, p.Cluster = nil, s.newCluster(awsrds.AuroraPostgresEngineVersion_VER_13_18(), nil)
		},
		"Access: User needs IamAuthentication of the server": func(s site, p *PostgresStoreProps) {
			p.Access, p.Instance, p.Cluster = s.withIAM(), nil, s.newCluster(awsrds.AuroraPostgresEngineVersion_VER_16_4(), nil)
		},
		"Access: Subnets has a public one": func(s site, p *PostgresStoreProps) {
			p.Access.Subnets = &awsec2.SubnetSelection{SubnetType: awsec2.SubnetType_PUBLIC}
		},
		"Access: Subnets: ": func(s site, p *PostgresStoreProps) {
			p.Access.Subnets = &awsec2.SubnetSelection{SubnetType: awsec2.SubnetType_PRIVATE_ISOLATED}
		},
		`DSQL: "abc" is not the ARN of a cluster`: func(_ site, p *PostgresStoreProps) { p.Instance, p.DSQL = nil, "abc" },
		"Access: DSQL has no passwords": func(s site, p *PostgresStoreProps) {
			p.Access, p.Instance, p.DSQL = &AccessOptions{Secret: s.secret}, nil, dsqlARN
		},
		"Access: User is admin": func(_ site, p *PostgresStoreProps) {
			p.Access, p.Instance, p.DSQL = &AccessOptions{User: "admin"}, nil, dsqlARN
		},
		"Access: DSQL is reached without a VPC": func(s site, p *PostgresStoreProps) { p.Access, p.Instance, p.DSQL = s.withIAM(), nil, dsqlARN },
	}, func(change func(site, *PostgresStoreProps)) {
		s := newSite(t)
		p := &PostgresStoreProps{Access: s.withSecret(), CABundle: bundle, Database: "shop"}
		p.Instance = s.instance(nil)
		change(s, p)
		NewPostgresStore(s.stack, "Store", p)
	})
}
