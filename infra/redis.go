package infra

import (
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awselasticache"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// RedisStoreProps are the props of [NewRedisStore]. Access with a SecurityGroup, Host and
// one of MemoryDB and ReplicationGroup are required; the zero value of every other field
// is its default.
type RedisStoreProps struct {
	// Access states the VPC and the security group, and the secret or the user. A User
	// needs version 7 or later, and a name that is its id.
	Access *AccessOptions

	// Ephemeral deletes the logs and the queues of the store's functions with their
	// stack. Default: false.
	Ephemeral bool

	// Host is the name of the endpoint: the primary, or that of the configuration in
	// cluster mode. It must have TLS, without which functions do not connect.
	Host string

	// MaxMemoryPolicy is the maxmemory-policy of a parameter group that the app does not
	// create. Only noeviction is accepted: with an evicted record its call runs again, so
	// that package redis refuses claims. Default: that of Parameters, and noeviction for
	// MemoryDB. ElastiCache has volatile-lru, which is refused.
	MaxMemoryPolicy string

	// MemoryDB is the name of a cluster of MemoryDB, in the account and Region of the
	// stack.
	MemoryDB string

	// Parameters is the parameter group of the ReplicationGroup. Default: not in the app.
	Parameters awselasticache.CfnParameterGroup

	// Port is the port of the endpoint. Default: 6379.
	Port float64

	// ReplicationGroup is the id of a replication group of ElastiCache, in the account and
	// Region of the stack. A serverless cache is none, and always evicts.
	ReplicationGroup string
}

// A RedisStore is a server of Redis or Valkey with records. Create one with
// [NewRedisStore].
type RedisStore struct {
	records
	access
	props             RedisStoreProps
	service, resource string
	arns              []*string // of the server and its user
}

// NewRedisStore describes a store of package redis on a server of yours. A failover of a
// ReplicationGroup can lose records, and their calls then run twice.
//
// A function with it runs in the VPC, and the security group of the server is opened for
// the function. Its environment has REDIS_URL without a password, and REDIS_SECRET with
// the ARN of the secret; or REDIS_IAM with "elasticache" or "memorydb", and REDIS_CACHE
// with the name for which the function's main signs a token.
//
// NewRedisStore panics with a [*PropsError] for props that cannot work.
func NewRedisStore(scope constructs.Construct, id string, props *RedisStoreProps) *RedisStore {
	p := filled(props, RedisStoreProps{Port: 6379})
	s := &RedisStore{access: newAccess(p.Access, nil, &p.Port), props: p, service: "elasticache", resource: p.ReplicationGroup}
	found := p.refuseServer()
	found.add(s.refuseAccess(), refuseID(scope, id, ""))
	found.panic(scope, id)
	constructs.NewConstruct(scope, &id) // the id is taken
	format, kind := awscdk.ArnFormat_COLON_RESOURCE_NAME, "replicationgroup"
	if p.MemoryDB != "" {
		s.service, s.resource, format, kind = "memorydb", p.MemoryDB, awscdk.ArnFormat_SLASH_RESOURCE_NAME, "cluster"
	}
	for _, of := range [][2]*string{{&kind, &s.resource}, {jsii.String("user"), &s.User}} {
		s.arns = append(s.arns, awscdk.Stack_Of(scope).FormatArn(&awscdk.ArnComponents{
			ArnFormat: format, Resource: of[0], ResourceName: of[1], Service: &s.service,
		}))
	}
	return s
}

func (p *RedisStoreProps) refuseServer() (found problems) {
	token := *awscdk.Token_IsUnresolved(p.Host)
	found.when(p.Host == "", "Host: it is required")
	found.when(!token && strings.ContainsAny(p.Host, ":/@"), "Host: %q is more than a name; functions use TLS, and Port", p.Host)
	ofAWS := strings.Contains(p.Host, ".cache.amazonaws.")
	reads := strings.HasPrefix(p.Host, "replica.") || ofAWS && strings.Contains(p.Host, "-ro.")
	found.when(!token && reads, "Host: %q is the endpoint of the replicas, which refuse writes", p.Host)
	found.when(!token && ofAWS && strings.Contains(p.Host, ".serverless."), "Host: %q is that of a serverless cache, which evicts records, and their calls run twice", p.Host)
	found.when((p.MemoryDB == "") == (p.ReplicationGroup == ""), "MemoryDB, ReplicationGroup: state one of them")
	found.when(strings.Contains(p.MemoryDB+p.ReplicationGroup, ":"), "MemoryDB, ReplicationGroup: state a name, and not an ARN")
	found.when(p.Parameters != nil && p.MemoryDB != "", "Parameters: they are those of ElastiCache; declare MaxMemoryPolicy")
	policy := p.MaxMemoryPolicy
	if p.Parameters != nil {
		if all, known := p.Parameters.Properties().(map[string]any); known {
			policy, _ = all["maxmemory-policy"].(string) // without one, it is the default
			found.when(p.MaxMemoryPolicy != "" && p.MaxMemoryPolicy != policy, "MaxMemoryPolicy: %q is declared, and Parameters has %q", p.MaxMemoryPolicy, policy)
		}
	}
	found.when(policy == "" && p.ReplicationGroup != "", "MaxMemoryPolicy: ElastiCache evicts records by default, and their calls run twice; set noeviction, and declare it or state Parameters")
	found.when(policy != "" && policy != "noeviction", "MaxMemoryPolicy: with %s the server evicts records, and their calls run twice; set noeviction", policy)
	return found
}

func (s *RedisStore) connect(function awslambda.IFunction, _ *IdempotentFunctionProps) {
	s.open(function, s.service+":Connect", s.arns...)
}

func (s *RedisStore) ephemeral() bool { return s.props.Ephemeral }

func (s *RedisStore) refuse(p *IdempotentFunctionProps) (found problems) {
	found.when(s.arns == nil, "Redis: it is a literal; make it with NewRedisStore")
	found.when(p.Execute != nil, "Execute: it is for a Table; in Redis, restrict the user to the keys of the prefix")
	return found
}

func (s *RedisStore) variables() map[string]*string {
	at := s.props.Host + ":" + *s.portText()
	if s.Secret != nil {
		return map[string]*string{"REDIS_SECRET": s.Secret.SecretArn(), "REDIS_URL": jsii.String("rediss://" + at)}
	}
	url := fmt.Sprintf("rediss://%s@%s", s.User, at)
	return map[string]*string{"REDIS_CACHE": &s.resource, "REDIS_IAM": &s.service, "REDIS_URL": &url}
}
