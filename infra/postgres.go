package infra

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsrds"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// PostgresStoreProps are the props of [NewPostgresStore]. Database is required. One of DSQL and
// Endpoint is required. One of Secret and User is required. The zero value of every other field is
// its default.
type PostgresStoreProps struct {
	// CABundle is the path of certificates in the function, such as
	// "/var/task/global-bundle.pem" for a file beside bootstrap. An instance and a cluster of RDS
	// need it, because no system trusts the CA of RDS by default. Default: the certificates of
	// the system, which are right for a proxy and DSQL.
	CABundle string

	// Database is the name of the database. That of DSQL is "postgres".
	Database string

	// DSQL is the ARN of an Aurora DSQL cluster, to which functions connect without a VPC.
	DSQL string

	// Endpoint is that of an instance, of the writer of a cluster, or of a proxy, for which
	// awsrds.NewEndpoint makes one. A proxy for PostgreSQL listens on port 5432.
	Endpoint awsrds.Endpoint

	// GrantConnect is the method of that name of the instance, the cluster or the proxy. A User
	// needs it, except for DSQL. Default: none, for a Secret.
	GrantConnect func(grantee awsiam.IGrantable, user *string) awsiam.Grant

	// Secret is JSON with username and password, as RDS writes it. Functions may read it.
	// From a VPC, they need a NAT or the interface endpoint of Secrets Manager.
	Secret awssecretsmanager.ISecret

	// Server is the instance, the cluster, the proxy, or its security group. It is opened for
	// the functions. Default: none, which only DSQL needs.
	Server awsec2.IConnectable

	// User is the role in PostgreSQL to which IAM gives access. Functions then sign tokens in
	// place of passwords, which needs no endpoint.
	User string
}

// A PostgresStore is a table of records in PostgreSQL, on a server that exists. Create
// one with [NewPostgresStore].
type PostgresStore struct {
	records
	server
	props PostgresStoreProps
	host  *string
}

// NewPostgresStore describes a store of package postgres on a server of yours, in the table
// "idempotency", which a migration creates: see "once postgres init". The server is opened for
// each function with it, and the function may log in. Its environment has the variables that pgx
// reads (PGHOST, PGPORT, PGDATABASE, PGUSER, PGSSLMODE, PGSSLROOTCERT), IDEMPOTENCY_TABLE, and
// DATABASE_SECRET with the ARN of the secret, or DATABASE_IAM with "rds-db" or "dsql". The
// password is in none of them: the function's main asks for one, or signs a token, for each new
// connection.
//
// NewPostgresStore panics with a [*PropsError] for props that cannot work.
func NewPostgresStore(scope constructs.Construct, id string, props *PostgresStoreProps) *PostgresStore {
	p := orZero(props)
	s := &PostgresStore{props: p, server: server{of: p.Server, port: jsii.Number(5432), secret: p.Secret, user: p.User}}
	append(s.find(scope), refuseID(scope, id, "")...).panic(scope, id)
	constructs.NewConstruct(scope, &id) // the id is taken
	return s
}

// find looks up the address of the server, and reports its mistakes.
func (s *PostgresStore) find(scope constructs.Construct) (found problems) {
	p := &s.props
	found.when(p.Database == "", "Database: it is required")
	if (p.DSQL == "") == (p.Endpoint == nil) {
		found.when(true, "DSQL, Endpoint: state one of them")
		return found
	}
	if p.DSQL == "" {
		s.host, s.port = p.Endpoint.Hostname(), p.Endpoint.Port()
		found.when(!unresolved(*s.host) && strings.Contains(*s.host, ".cluster-ro-"), "Endpoint: %s is that of the readers, which refuse writes", *s.host)
		found.when(s.user != "" && p.GrantConnect == nil, "GrantConnect: it is required with User")
		return append(found, s.server.refuse()...)
	}
	found.when(p.Secret != nil || p.User == "" || p.User == "admin", "User: DSQL has no passwords; state the role that AWS IAM GRANT links, which is not admin, and no Secret")
	found.when(p.Server != nil, "Server: DSQL is reached without a VPC; put a function into one with Configure, with a NAT or the interface endpoint of the cluster")
	if !unresolved(p.DSQL) && (!strings.HasPrefix(p.DSQL, "arn:") || !strings.Contains(p.DSQL, ":cluster/")) {
		found.when(true, "DSQL: %q is not the ARN of a cluster", p.DSQL)
		return found
	}
	if scope != nil {
		arn := awscdk.Stack_Of(scope).SplitArn(&p.DSQL, awscdk.ArnFormat_SLASH_RESOURCE_NAME)
		s.host = awscdk.Fn_Join(jsii.String("."), &[]*string{arn.ResourceName, jsii.String("dsql"), arn.Region, jsii.String("on.aws")})
	}
	return found
}

func (s *PostgresStore) connect(function awslambda.IFunction, _ *IdempotentFunctionProps) {
	s.open(function)
	switch {
	case s.props.DSQL != "":
		allow(function, []*string{&s.props.DSQL}, nil, "dsql:DbConnect")
	case s.user != "":
		build(function, "", "GrantConnect", func() awsiam.Grant { return effective(function, s.props.GrantConnect(function, &s.user)) })
	}
}

func (s *PostgresStore) refuse(p *IdempotentFunctionProps) (found problems) {
	found.when(s.host == nil, "Postgres: it is a literal; make it with NewPostgresStore")
	found.when(p.Execute != nil, "Execute: it is for a Table; in PostgreSQL, grant rights to the role")
	return found
}

func (s *PostgresStore) variables() map[string]*string {
	all := map[string]*string{
		"IDEMPOTENCY_TABLE": jsii.String("idempotency"), "PGDATABASE": &s.props.Database, "PGHOST": s.host, "PGPORT": s.portText(), "PGSSLMODE": jsii.String("verify-full"),
	}
	if s.props.CABundle != "" {
		all["PGSSLROOTCERT"] = &s.props.CABundle
	}
	if s.secret != nil {
		all["DATABASE_SECRET"] = s.secret.SecretArn()
		return all
	}
	all["DATABASE_IAM"], all["PGUSER"] = jsii.String("rds-db"), &s.user
	if s.props.DSQL != "" {
		all["DATABASE_IAM"] = jsii.String("dsql")
	}
	return all
}
