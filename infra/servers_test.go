package infra

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awselasticache"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsrds"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
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

func (s site) withSecret() *AccessOptions { return &AccessOptions{Secret: s.secret, VPC: s.vpc} }

func (s site) withIAM() *AccessOptions { return &AccessOptions{User: "once", VPC: s.vpc} }

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

// A connected function has these variables, permissions and ingress.
type connected struct{ variables, statements, ingress string }

// connect returns how a function of a store is connected.
func connect(t *testing.T, s site, change func(*IdempotentFunctionProps)) (connected, template.Template) {
	t.Helper()
	NewIdempotentFunction(s.stack, "Function", withoutTable(t, change))
	deployed := synth(t, s.stack)
	obeys(t, deployed, template.Wildcard)
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
	return c, deployed
}

// withoutTable returns the props of a function with a further store.
func withoutTable(t *testing.T, change func(*IdempotentFunctionProps)) *IdempotentFunctionProps {
	p := &IdempotentFunctionProps{Code: zip(t)}
	change(p)
	return p
}

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

func TestNilPropsOfStoresAreRefused(t *testing.T) {
	stack := newStack()
	refused := refusal(t, func() { NewPostgresStore(stack, "Store", nil) })
	check.Contains(t, refused, "state one of them, and not 0; Database: it is required")
	refused = refusal(t, func() { NewRedisStore(stack, "Store", nil) })
	check.Contains(t, refused, "Host: it is required; MemoryDB, ReplicationGroup: state one of them; ")
}

func (s site) redis(change func(*RedisStoreProps)) *RedisStoreProps {
	p := &RedisStoreProps{
		Access: s.withIAM(), Host: "cache.example.com", MaxMemoryPolicy: "noeviction", ReplicationGroup: "cache",
	}
	p.Access.SecurityGroup = s.group
	if change != nil {
		change(p)
	}
	return p
}

func TestRedisStoreConnectsAFunction(t *testing.T) {
	arn := func(service, resource string) string {
		return "map[Fn::Join:[ [arn: map[Ref:AWS::Partition] :" + service + ":eu-west-1:111122223333:" + resource + "]]]"
	}
	for name, c := range map[string]struct {
		change func(*RedisStoreProps)
		want   connected
	}{
		"ElastiCache, with IAM": {nil, connected{
			"REDIS_CACHE=cache REDIS_IAM=elasticache REDIS_URL=rediss://once@cache.example.com:6379",
			"elasticache:Connect on [" + arn("elasticache", "replicationgroup:cache") + " " + arn("elasticache", "user:once") + "]", "6379-6379",
		}},
		"MemoryDB, with IAM": {func(p *RedisStoreProps) {
			p.MaxMemoryPolicy, p.ReplicationGroup, p.MemoryDB, p.Port = "", "", "log", 6380
		}, connected{
			"REDIS_CACHE=log REDIS_IAM=memorydb REDIS_URL=rediss://once@cache.example.com:6380",
			"memorydb:Connect on [" + arn("memorydb", "cluster/log") + " " + arn("memorydb", "user/once") + "]", "6380-6380",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			got, _ := connect(t, s, func(p *IdempotentFunctionProps) { p.Redis = NewRedisStore(s.stack, "Store", s.redis(c.change)) })
			check.Equal(t, got.variables, c.want.variables)
			check.Equal(t, got.statements, c.want.statements)
			check.Contains(t, got.ingress, "sg-11111111 "+c.want.ingress+" from ")
		})
	}
}

func TestRedisStoreWithASecretAndTokens(t *testing.T) {
	s := newSite(t)
	host := awscdk.NewCfnParameter(s.stack, jsii.String("Host"), nil)
	got, _ := connect(t, s, func(p *IdempotentFunctionProps) {
		p.Redis = NewRedisStore(s.stack, "Store", s.redis(func(p *RedisStoreProps) {
			p.Access.Secret, p.Access.User, p.Host = s.secret, "", *host.ValueAsString()
		}))
	})
	check.Contains(t, got.variables, "REDIS_SECRET=map[")
	check.Contains(t, got.variables, "REDIS_URL=map[Fn::Join:[ [rediss:// map[Ref:Host] :6379]]]")
	check.Contains(t, got.statements, "secretsmanager:GetSecretValue")
}

func TestRedisStoreRefuses(t *testing.T) {
	parameters := func(s site, policy string) awselasticache.CfnParameterGroup {
		return awselasticache.NewCfnParameterGroup(s.stack, jsii.String("Parameters"), &awselasticache.CfnParameterGroupProps{
			CacheParameterGroupFamily: jsii.String("valkey8"), Description: jsii.String("d"),
			Properties: &map[string]*string{"maxmemory-policy": &policy},
		})
	}
	wantRefusals(t, map[string]func(site, *RedisStoreProps){
		"":                             func(s site, p *RedisStoreProps) { p.MaxMemoryPolicy, p.Parameters = "", parameters(s, "noeviction") },
		"Host: it is required":         func(_ site, p *RedisStoreProps) { p.Host = "" },
		"is more than a name":          func(_ site, p *RedisStoreProps) { p.Host = "redis://cache.example.com" },
		"the endpoint of the replicas": func(_ site, p *RedisStoreProps) { p.Host = "replica.cache.example.com" },
		"MemoryDB, ReplicationGroup: state one of them": func(_ site, p *RedisStoreProps) { p.MemoryDB = "log" },
		"state a name, and not an ARN": func(_ site, p *RedisStoreProps) {
			p.ReplicationGroup = "arn:aws:elasticache:eu-west-1:111122223333:serverlesscache:cache"
		},
		"MaxMemoryPolicy: ElastiCache evicts records by default": func(_ site, p *RedisStoreProps) { p.MaxMemoryPolicy = "" },
		"MaxMemoryPolicy: with volatile-lru":                     func(_ site, p *RedisStoreProps) { p.MaxMemoryPolicy = "volatile-lru" },
		"MaxMemoryPolicy: with allkeys-lru":                      func(s site, p *RedisStoreProps) { p.MaxMemoryPolicy, p.Parameters = "", parameters(s, "allkeys-lru") },
		"Parameters: they are those of ElastiCache": func(s site, p *RedisStoreProps) {
			p.ReplicationGroup, p.MemoryDB, p.Parameters = "", "log", parameters(s, "noeviction")
		},
		"Access: state one of Secret, and User for IAM": func(_ site, p *RedisStoreProps) { p.Access.User = "" },
		"Access: SecurityGroup is required":             func(_ site, p *RedisStoreProps) { p.Access.SecurityGroup = nil },
	}, func(change func(site, *RedisStoreProps)) {
		s := newSite(t)
		p := s.redis(nil)
		change(s, p)
		NewRedisStore(s.stack, "Store", p)
	})
}

func TestDeclaredPolicyIsCompared(t *testing.T) {
	s := newSite(t)
	group := awselasticache.NewCfnParameterGroup(s.stack, jsii.String("Parameters"), &awselasticache.CfnParameterGroupProps{
		CacheParameterGroupFamily: jsii.String("valkey8"), Description: jsii.String("d"), Properties: &map[string]*string{"maxmemory-policy": jsii.String("allkeys-lru")},
	})
	refused := refusal(t, func() { NewRedisStore(s.stack, "Store", s.redis(func(p *RedisStoreProps) { p.Parameters = group })) })
	check.Contains(t, refused, `"noeviction" is declared, and Parameters has "allkeys-lru"`)
}

// The secret of a store replaces no prop of a table.
func TestStoreExcludesTheOthersAndExecute(t *testing.T) {
	s := newSite(t)
	postgres := NewPostgresStore(s.stack, "Store", &PostgresStoreProps{Access: s.withSecret(), CABundle: bundle, Database: "shop", Instance: s.instance(nil)})
	wantRefusal(t, "a function has one of them", func() {
		NewIdempotentFunction(s.stack, "A", &IdempotentFunctionProps{Code: zip(t), Postgres: postgres, Table: NewIdempotencyTable(s.stack, "Table", nil)})
	})
	wantRefusal(t, "Execute: it is for a Table", func() {
		NewIdempotentFunction(s.stack, "B", &IdempotentFunctionProps{Code: zip(t), Execute: &ExecuteOptions{}, Postgres: postgres})
	})
	wantRefusal(t, "Environment: PGHOST is set by this construct", func() {
		NewIdempotentFunction(s.stack, "C", &IdempotentFunctionProps{Code: zip(t), Environment: map[string]string{"PGHOST": "h"}, Postgres: postgres})
	})
}

func TestProtectedFunctionReachesTheServerFromItsVPC(t *testing.T) {
	s := newSite(t)
	code := zip(t)
	inVPC := awslambda.NewFunction(s.stack, jsii.String("In"), &awslambda.FunctionProps{
		Code: awslambda.Code_FromAsset(&code, nil), Handler: jsii.String("bootstrap"), Runtime: awslambda.Runtime_PROVIDED_AL2023(), Vpc: s.vpc,
	})
	store := NewPostgresStore(s.stack, "Store", &PostgresStoreProps{Access: s.withIAM(), CABundle: bundle, Database: "shop", Instance: s.instance(nil)})
	alias := awslambda.NewAlias(s.stack, jsii.String("Alias"), &awslambda.AliasProps{AliasName: jsii.String("live"), Version: inVPC.CurrentVersion()})
	Protect(s.stack, "OnAlias", alias, &ProtectProps{Postgres: store, Timeout: 10e9})
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
