package infra

import (
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsrds"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// PostgresStoreProps are the props of [NewPostgresStore]. Access, Database and one of
// Cluster, DSQL, Instance and Proxy are required; the zero value of every other field is
// its default.
type PostgresStoreProps struct {
	// Access states the VPC, and the secret or the role in PostgreSQL. For a User, an
	// Instance and a Cluster of the app must have IamAuthentication. Of an import and of a
	// Proxy, which needs IamAuth, it is unchecked.
	Access *AccessOptions

	// CABundle is the path of certificates in the function, such as
	// "/var/task/global-bundle.pem" for a file beside bootstrap. An Instance and a Cluster
	// require it, because no system trusts the CA of RDS by default. Default: the
	// certificates of the system, which are right for a Proxy and DSQL.
	CABundle string

	// Cluster is an Aurora cluster. Functions connect to its writer.
	Cluster awsrds.IDatabaseCluster

	// Database is the name of the database. That of DSQL is "postgres".
	Database string

	// DSQL is the ARN of an Aurora DSQL cluster. It is reached without a VPC, and requires
	// a User.
	DSQL string

	// Ephemeral deletes the logs and the queues of the store's functions with their
	// stack. Default: false.
	Ephemeral bool

	// Instance is an instance of RDS.
	Instance awsrds.IDatabaseInstance

	// Proxy is an RDS Proxy, at its read/write endpoint and port 5432.
	Proxy awsrds.IDatabaseProxy

	// Table is the name of the table, which a migration creates: see "once postgres init".
	// Default: "idempotency".
	Table string
}

// A PostgresStore is a table of records in PostgreSQL, on a server that exists. Create
// one with [NewPostgresStore].
type PostgresStore struct {
	records
	access
	props      PostgresStoreProps
	host       *string
	permission []*string // the action of IAM, and its resource
}

// NewPostgresStore describes a store of package postgres on a server of yours. A function
// with it runs in the VPC, and the security group of the server is opened for the
// function. Its environment has the variables that pgx reads (PGHOST, PGPORT, PGDATABASE,
// PGUSER, PGSSLMODE, PGSSLROOTCERT), IDEMPOTENCY_TABLE, and DATABASE_SECRET with the ARN of
// the secret, or DATABASE_IAM with "rds-db" or "dsql". The password is in none of them: the
// function's main asks for one, or signs a token, for each new connection.
//
// NewPostgresStore panics with a [*PropsError] for props that cannot work.
func NewPostgresStore(scope constructs.Construct, id string, props *PostgresStoreProps) *PostgresStore {
	s := &PostgresStore{props: filled(props, PostgresStoreProps{Table: "idempotency"})}
	found := refuseID(scope, id, "")
	if scope != nil {
		found.add(s.find(scope))
	}
	found.when(s.props.Database == "", "Database: it is required")
	found.panic(scope, id)
	constructs.NewConstruct(scope, &id) // the id is taken
	return s
}

// find looks up the server, and reports its mistakes.
func (s *PostgresStore) find(scope constructs.Construct) (found problems) {
	p := &s.props
	stated := slices.DeleteFunc([]bool{p.Instance != nil, p.Cluster != nil, p.Proxy != nil, p.DSQL != ""}, func(is bool) bool { return !is })
	if servers := len(stated); servers != 1 {
		found.when(true, "Cluster, DSQL, Instance, Proxy: state one of them, and not %d", servers)
		return found
	}
	if p.DSQL != "" {
		return s.findDSQL(scope)
	}
	var (
		server   awsec2.IConnectable
		endpoint awsrds.Endpoint
		engine   awsrds.IEngine
		iam      any = true // unchecked
		resource *string
	)
	switch {
	case p.Instance != nil:
		server, endpoint, engine, resource = p.Instance, p.Instance.InstanceEndpoint(), p.Instance.Engine(), p.Instance.InstanceResourceId()
		if made, known := p.Instance.Node().DefaultChild().(awsrds.CfnDBInstance); known {
			iam = made.EnableIamDatabaseAuthentication()
		}
	case p.Cluster != nil:
		server, engine = p.Cluster, p.Cluster.Engine()
		attempt(func() { endpoint = p.Cluster.ClusterEndpoint() }) // an import may have none
		attempt(func() { resource = p.Cluster.ClusterResourceIdentifier() })
		if made, known := p.Cluster.Node().DefaultChild().(awsrds.CfnDBCluster); known {
			iam = made.EnableIamDatabaseAuthentication()
		}
	default:
		server, _ = p.Proxy.(awsec2.IConnectable) // an import is none
		endpoint = awsrds.NewEndpoint(p.Proxy.Endpoint(), jsii.Number(5432))
		resource = awscdk.Fn_Select(jsii.Number(6), awscdk.Fn_Split(jsii.String(":"), p.Proxy.DbProxyArn(), nil))
	}
	if endpoint == nil {
		found.when(true, "Cluster: it is imported without ClusterEndpointAddress and Port")
		return found
	}
	s.host, s.access = endpoint.Hostname(), newAccess(p.Access, server, endpoint.Port())
	found.add(s.refuseAccess(), refuseEngine(engine))
	found.when(s.User != "" && (iam == nil || iam == false), "Access: User needs IamAuthentication of the server")
	found.when(s.User != "" && resource == nil, "Access: User needs the resource identifier of the server, which the import hides")
	found.when(p.CABundle == "" && p.Proxy == nil, "CABundle: it is required, because no system trusts the CA of RDS by default")
	found.when(p.CABundle != "" && !strings.HasPrefix(p.CABundle, "/"), "CABundle: %q is no path from /, such as /var/task/global-bundle.pem", p.CABundle)
	if s.User != "" && resource != nil {
		user := awscdk.Fn_Join(jsii.String("/"), &[]*string{resource, &s.User})
		s.permission = []*string{jsii.String("rds-db:connect"), awscdk.Stack_Of(scope).FormatArn(&awscdk.ArnComponents{
			ArnFormat: awscdk.ArnFormat_COLON_RESOURCE_NAME, Resource: jsii.String("dbuser"), ResourceName: user, Service: jsii.String("rds-db"),
		})}
	}
	return found
}

// findDSQL takes the endpoint from the ARN, which may be a token.
func (s *PostgresStore) findDSQL(scope constructs.Construct) (found problems) {
	p := &s.props
	if !*awscdk.Token_IsUnresolved(p.DSQL) && (!strings.HasPrefix(p.DSQL, "arn:") || !strings.Contains(p.DSQL, ":cluster/")) {
		found.when(true, "DSQL: %q is not the ARN of a cluster", p.DSQL)
		return found
	}
	arn := awscdk.Stack_Of(scope).SplitArn(&p.DSQL, awscdk.ArnFormat_SLASH_RESOURCE_NAME)
	s.host = awscdk.Fn_Join(jsii.String("."), &[]*string{arn.ResourceName, jsii.String("dsql"), arn.Region, jsii.String("on.aws")})
	s.access, s.permission = newAccess(p.Access, nil, jsii.Number(5432)), []*string{jsii.String("dsql:DbConnect"), &p.DSQL}
	found.when(s.Secret != nil || s.User == "", "Access: DSQL has no passwords; state User, and no Secret")
	found.when(s.User == "admin", "Access: User is admin, whom no function needs; create a role, and link it with AWS IAM GRANT")
	found.when(s.VPC != nil || s.Subnets != nil || s.SecurityGroup != nil,
		"Access: DSQL is reached without a VPC; put a function into one with Configure, with a NAT or the interface endpoint of the cluster")
	return found
}

// refuseEngine reports servers that package postgres does not support. An import may hide
// its engine.
func refuseEngine(engine awsrds.IEngine) (found problems) {
	if engine == nil {
		return found
	}
	found.when(!strings.Contains(*engine.EngineType(), "postgres"), "Cluster, Instance: %s is not PostgreSQL", *engine.EngineType())
	if version := engine.EngineVersion(); version != nil {
		major, err := strconv.ParseFloat(*version.MajorVersion, 64) // "9.6" was one
		found.when(err == nil && major < 15, "Cluster, Instance: version %s is older than 15", *version.MajorVersion)
	}
	return found
}

func (s *PostgresStore) connect(function awslambda.IFunction, _ *IdempotentFunctionProps) {
	if s.Secret != nil {
		s.open(function, "")
		return
	}
	s.open(function, *s.permission[0], s.permission[1])
}

func (s *PostgresStore) ephemeral() bool { return s.props.Ephemeral }

func (s *PostgresStore) refuse(p *IdempotentFunctionProps) (found problems) {
	found.when(s.host == nil, "Postgres: it is a literal; make it with NewPostgresStore")
	found.when(p.Execute != nil, "Execute: it is for a Table; in PostgreSQL, grant rights to the role")
	return found
}

func (s *PostgresStore) variables() map[string]*string {
	all := map[string]*string{
		"IDEMPOTENCY_TABLE": &s.props.Table, "PGDATABASE": &s.props.Database, "PGHOST": s.host, "PGPORT": s.portText(), "PGSSLMODE": jsii.String("verify-full"),
	}
	if s.props.CABundle != "" {
		all["PGSSLROOTCERT"] = &s.props.CABundle
	}
	if s.Secret != nil {
		all["DATABASE_SECRET"] = s.Secret.SecretArn()
		return all
	}
	service, _, _ := strings.Cut(*s.permission[0], ":") // an action always has its service before a colon
	all["DATABASE_IAM"], all["PGUSER"] = &service, &s.User
	return all
}
