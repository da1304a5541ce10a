package infra

import (
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// RedisStoreProps are the props of [NewRedisStore]. Host and Server are required. One of MemoryDB
// and ReplicationGroup is required. One of Secret and User is required. The zero value of every
// other field is its default.
type RedisStoreProps struct {
	// Host is the name of the endpoint: the primary, or that of the configuration in
	// cluster mode, at port 6379. It must have TLS, without which functions do not connect.
	Host string

	// MaxMemoryPolicy is the maxmemory-policy of the server, as its parameter group has it. Only
	// noeviction is accepted: with an evicted record its call runs again, so that package redis
	// refuses claims. Default: noeviction for MemoryDB. ElastiCache has volatile-lru, which is
	// refused.
	MaxMemoryPolicy string

	// MemoryDB is the name of a cluster of MemoryDB, in the account and Region of the
	// stack.
	MemoryDB string

	// ReplicationGroup is the id of a replication group of ElastiCache, in the account and
	// Region of the stack. A serverless cache is none, and always evicts.
	ReplicationGroup string

	// Secret is JSON with username and password. Functions may read it.
	Secret awssecretsmanager.ISecret

	// Server is the security group of the server. It is opened for the functions.
	Server awsec2.IConnectable

	// User is the user to which IAM gives access, whose name is its id. It needs version 7 or
	// later. Functions then sign tokens in place of passwords.
	User string
}

// A RedisStore is a server of Redis or Valkey with records. Create one with
// [NewRedisStore].
type RedisStore struct {
	records
	server
	props             RedisStoreProps
	service, resource string
	arns              []*string // of the server and its user
}

// NewRedisStore describes a store of package redis on a server of yours. A failover of a
// ReplicationGroup can lose records, and their calls then run twice.
//
// The server is opened for each function with it, and the function may log in. Its environment
// has REDIS_URL without a password, and REDIS_SECRET with the ARN of the secret; or REDIS_IAM
// with "elasticache" or "memorydb", and REDIS_CACHE with the name for which the function's main
// signs a token.
//
// NewRedisStore panics with a [*PropsError] for props that cannot work.
func NewRedisStore(scope constructs.Construct, id string, props *RedisStoreProps) *RedisStore {
	p := orZero(props)
	s := &RedisStore{server: server{of: p.Server, port: jsii.Number(6379), secret: p.Secret, user: p.User}, props: p, service: "elasticache", resource: p.ReplicationGroup}
	found := p.refuseServer()
	found.add(s.server.refuse(), refuseID(scope, id, ""))
	found.panic(scope, id)
	constructs.NewConstruct(scope, &id) // the id is taken
	format, kind := awscdk.ArnFormat_COLON_RESOURCE_NAME, "replicationgroup"
	if p.MemoryDB != "" {
		s.service, s.resource, format, kind = "memorydb", p.MemoryDB, awscdk.ArnFormat_SLASH_RESOURCE_NAME, "cluster"
	}
	for _, of := range [][2]*string{{&kind, &s.resource}, {jsii.String("user"), &s.user}} {
		s.arns = append(s.arns, awscdk.Stack_Of(scope).FormatArn(&awscdk.ArnComponents{
			ArnFormat: format, Resource: of[0], ResourceName: of[1], Service: &s.service,
		}))
	}
	return s
}

func (p *RedisStoreProps) refuseServer() (found problems) {
	token := unresolved(p.Host)
	found.when(p.Host == "", "Host: it is required")
	found.when(!token && strings.ContainsAny(p.Host, ":/@"), "Host: %q is more than a name; functions use TLS, and port 6379", p.Host)
	ofAWS := strings.Contains(p.Host, ".cache.amazonaws.")
	reads := strings.HasPrefix(p.Host, "replica.") || ofAWS && strings.Contains(p.Host, "-ro.")
	found.when(!token && reads, "Host: %q is the endpoint of the replicas, which refuse writes", p.Host)
	found.when(!token && ofAWS && strings.Contains(p.Host, ".serverless."), "Host: %q is that of a serverless cache, which evicts records, and their calls run twice", p.Host)
	found.when((p.MemoryDB == "") == (p.ReplicationGroup == ""), "MemoryDB, ReplicationGroup: state one of them")
	found.when(strings.Contains(p.MemoryDB+p.ReplicationGroup, ":"), "MemoryDB, ReplicationGroup: state a name, and not an ARN")
	found.when(p.MaxMemoryPolicy == "" && p.ReplicationGroup != "", "MaxMemoryPolicy: ElastiCache evicts records by default, and their calls run twice; set noeviction in its parameter group, and declare it")
	found.when(p.MaxMemoryPolicy != "" && p.MaxMemoryPolicy != "noeviction", "MaxMemoryPolicy: with %s the server evicts records, and their calls run twice; set noeviction", p.MaxMemoryPolicy)
	return found
}

func (s *RedisStore) connect(function awslambda.IFunction, _ *IdempotentFunctionProps) {
	s.open(function)
	if s.user != "" {
		allow(function, s.arns, nil, s.service+":Connect")
	}
}

func (s *RedisStore) refuse(p *IdempotentFunctionProps) (found problems) {
	found.when(s.arns == nil, "Redis: it is a literal; make it with NewRedisStore")
	found.when(p.Execute != nil, "Execute: it is for a Table; in Redis, restrict the user to the keys of the prefix")
	return found
}

func (s *RedisStore) variables() map[string]*string {
	at := s.props.Host + ":" + *s.portText()
	if s.secret != nil {
		return map[string]*string{"REDIS_SECRET": s.secret.SecretArn(), "REDIS_URL": jsii.String("rediss://" + at)}
	}
	url := fmt.Sprintf("rediss://%s@%s", s.user, at)
	return map[string]*string{"REDIS_CACHE": &s.resource, "REDIS_IAM": &s.service, "REDIS_URL": &url}
}
