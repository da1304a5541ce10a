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

func (s site) proxy() awsrds.IDatabaseProxy {
	return awsrds.DatabaseProxy_FromDatabaseProxyAttributes(s.stack, jsii.String("Proxy"), &awsrds.DatabaseProxyAttributes{
		DbProxyArn: jsii.String("arn:aws:rds:eu-west-1:111122223333:db-proxy:prx-ID"), DbProxyName: jsii.String("p"),
		Endpoint: jsii.String("proxy.example.com"), SecurityGroups: &[]awsec2.ISecurityGroup{s.group},
	})
}

// newCluster is a cluster of the app.
func (s site) newCluster(iam *bool) awsrds.DatabaseCluster {
	return awsrds.NewDatabaseCluster(s.stack, jsii.String("New"), &awsrds.DatabaseClusterProps{
		Engine:            awsrds.DatabaseClusterEngine_AuroraPostgres(&awsrds.AuroraPostgresClusterEngineProps{Version: awsrds.AuroraPostgresEngineVersion_VER_16_4()}),
		IamAuthentication: iam, Vpc: s.vpc, VpcSubnets: &awsec2.SubnetSelection{SubnetType: awsec2.SubnetType_PRIVATE_WITH_EGRESS},
		Writer: awsrds.ClusterInstance_ServerlessV2(jsii.String("Writer"), nil),
	})
}

// postgres returns the props of a store on an instance, with a secret.
func (s site) postgres() *PostgresStoreProps {
	instance := s.instance(nil)
	return &PostgresStoreProps{CABundle: bundle, Database: "shop", Endpoint: instance.InstanceEndpoint(), Secret: s.secret, Server: instance}
}

const (
	bundle  = "/var/task/global-bundle.pem"
	dsqlARN = "arn:aws:dsql:eu-west-1:111122223333:cluster/abc"
)

func TestPostgresStoreConnectsAFunction(t *testing.T) {
	const secretARN = "map[Fn::Join:[ [arn: map[Ref:AWS::Partition] :secretsmanager:eu-west-1:111122223333:secret:once]]]"
	const readSecret = "[secretsmanager:GetSecretValue secretsmanager:DescribeSecret] on map[Fn::Join:[ [arn: map[Ref:AWS::Partition] :secretsmanager:eu-west-1:111122223333:secret:once-??????]]]"
	const from = " from map[Fn::GetAtt:[FunctionSecurityGroup GroupId]]"
	for name, c := range map[string]struct {
		props func(site) *PostgresStoreProps
		want  connected
	}{
		"an instance, with a secret": {
			site.postgres,
			connected{"DATABASE_SECRET=" + secretARN + " IDEMPOTENCY_TABLE=idempotency PGDATABASE=shop PGHOST=db.example.com PGPORT=5433 PGSSLMODE=verify-full PGSSLROOTCERT=" + bundle,
				readSecret, "sg-11111111 5433-5433" + from},
		},
		"an imported proxy, with IAM": {
			func(s site) *PostgresStoreProps {
				return &PostgresStoreProps{
					Database: "shop", Endpoint: awsrds.NewEndpoint(jsii.String("proxy.example.com"), jsii.Number(5432)), GrantConnect: s.proxy().GrantConnect, Server: s.group, User: "once",
				}
			},
			connected{"DATABASE_IAM=rds-db IDEMPOTENCY_TABLE=idempotency PGDATABASE=shop PGHOST=proxy.example.com PGPORT=5432 PGSSLMODE=verify-full PGUSER=once",
				"rds-db:connect on map[Fn::Join:[ [arn: map[Ref:AWS::Partition] :rds-db:eu-west-1:111122223333:dbuser:prx-ID/once]]]", "sg-11111111 5432-5432" + from},
		},
		"DSQL": {
			func(s site) *PostgresStoreProps {
				return &PostgresStoreProps{Database: "shop", DSQL: dsqlARN, User: "once"}
			},
			connected{"DATABASE_IAM=dsql IDEMPOTENCY_TABLE=idempotency PGDATABASE=shop PGHOST=abc.dsql.eu-west-1.on.aws PGPORT=5432 PGSSLMODE=verify-full PGUSER=once",
				"dsql:DbConnect on " + dsqlARN, ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			check.Equal(t, connect(t, s, &IdempotentFunctionProps{Postgres: NewPostgresStore(s.stack, "Store", c.props(s))}), c.want)
		})
	}
}

// The endpoint, its port and the identifier are known only during the deployment.
func TestPostgresStoreTakesTokens(t *testing.T) {
	s := newSite(t)
	cluster := s.newCluster(jsii.Bool(true))
	got := connect(t, s, &IdempotentFunctionProps{Postgres: NewPostgresStore(s.stack, "Store", &PostgresStoreProps{
		CABundle: bundle, Database: "shop", Endpoint: cluster.ClusterEndpoint(), GrantConnect: cluster.GrantConnect, Server: cluster, User: "once",
	})})
	check.Contains(t, got.variables, "PGHOST=map[Fn::GetAtt:[New Endpoint.Address]]")
	check.Contains(t, got.variables, "PGPORT=map[Fn::GetAtt:[New Endpoint.Port]]")
	check.Contains(t, got.statements, "map[Fn::GetAtt:[New DBClusterResourceId]] /once")
	check.Contains(t, got.ingress, "map[Fn::GetAtt:[NewSecurityGroup GroupId]] map[Fn::GetAtt:[New Endpoint.Port]]")
}

func TestPostgresStoreRefuses(t *testing.T) {
	dsql := func(change func(site, *PostgresStoreProps)) func(site, *PostgresStoreProps) {
		return func(s site, p *PostgresStoreProps) {
			*p = PostgresStoreProps{Database: "postgres", DSQL: dsqlARN, User: "once"}
			change(s, p)
		}
	}
	wantRefusals(t, map[string]func(site, *PostgresStoreProps){
		"":                                 func(site, *PostgresStoreProps) {},
		"Database: it is required":         func(_ site, p *PostgresStoreProps) { p.Database = "" },
		"DSQL, Endpoint: state one of":     func(_ site, p *PostgresStoreProps) { p.Endpoint = nil },
		"DSQL, Endpoint: state one of t":   func(s site, p *PostgresStoreProps) { p.DSQL = dsqlARN },
		"Secret, User: state one of":       func(_ site, p *PostgresStoreProps) { p.Secret = nil },
		"Secret, User: state one of them;": func(s site, p *PostgresStoreProps) { p.GrantConnect, p.User = s.proxy().GrantConnect, "once" },
		"GrantConnect: it is required":     func(_ site, p *PostgresStoreProps) { p.Secret, p.User = nil, "once" },
		"Server: it is required, and an import hides": func(s site, p *PostgresStoreProps) {
			p.Server = s.instance(func(a *awsrds.DatabaseInstanceAttributes) { a.SecurityGroups = &[]awsec2.ISecurityGroup{} })
		},
		"Server: it is required,": func(_ site, p *PostgresStoreProps) { p.Server = nil },
		"is that of the readers, which refuse writes": func(_ site, p *PostgresStoreProps) {
			p.Endpoint = awsrds.NewEndpoint(jsii.String("shop.cluster-ro-a1.eu-west-1.rds.amazonaws.com"), jsii.Number(5432))
		},
		`DSQL: "abc" is not the ARN of a cluster`: dsql(func(_ site, p *PostgresStoreProps) { p.DSQL = "abc" }),
		"User: DSQL has no passwords":             dsql(func(s site, p *PostgresStoreProps) { p.Secret, p.User = s.secret, "" }),
		"User: DSQL has no passwords;":            dsql(func(_ site, p *PostgresStoreProps) { p.User = "admin" }),
		"Server: DSQL is reached without a VPC":   dsql(func(s site, p *PostgresStoreProps) { p.Server = s.group }),
	}, func(change func(site, *PostgresStoreProps)) {
		s := newSite(t)
		p := s.postgres()
		change(s, p)
		NewPostgresStore(s.stack, "Store", p)
	})
}

// CDK refuses an import that hides its identifier.
func TestServerThatTakesNoTokensIsRefused(t *testing.T) {
	s := newSite(t)
	p := s.postgres()
	p.GrantConnect = s.instance(func(a *awsrds.DatabaseInstanceAttributes) { a.InstanceResourceId = nil }).GrantConnect
	p.Secret, p.User = nil, "once"
	store := NewPostgresStore(s.stack, "Store", p)
	wantRefusal(t, "GrantConnect: ", func() {
		NewIdempotentFunction(s.stack, "F", &IdempotentFunctionProps{Code: zip(t), Configure: s.inVPC, Postgres: store})
	})
}
