package infra

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
)

func (s site) redis(change func(*RedisStoreProps)) *RedisStoreProps {
	p := &RedisStoreProps{Host: "cache.example.com", MaxMemoryPolicy: "noeviction", ReplicationGroup: "cache", Server: s.group, User: "once"}
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
			p.MaxMemoryPolicy, p.ReplicationGroup, p.MemoryDB = "", "", "log"
		}, connected{
			"REDIS_CACHE=log REDIS_IAM=memorydb REDIS_URL=rediss://once@cache.example.com:6379",
			"memorydb:Connect on [" + arn("memorydb", "cluster/log") + " " + arn("memorydb", "user/once") + "]", "6379-6379",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			got := connect(t, s, &IdempotentFunctionProps{Redis: NewRedisStore(s.stack, "Store", s.redis(c.change))})
			check.Equal(t, got.variables, c.want.variables)
			check.Equal(t, got.statements, c.want.statements)
			check.Contains(t, got.ingress, "sg-11111111 "+c.want.ingress+" from ")
		})
	}
}

func TestRedisStoreWithASecretAndTokens(t *testing.T) {
	s := newSite(t)
	host := awscdk.NewCfnParameter(s.stack, jsii.String("Host"), nil)
	got := connect(t, s, &IdempotentFunctionProps{Redis: NewRedisStore(s.stack, "Store", s.redis(func(p *RedisStoreProps) {
		p.Secret, p.User, p.Host = s.secret, "", *host.ValueAsString()
	}))})
	check.Contains(t, got.variables, "REDIS_SECRET=map[")
	check.Contains(t, got.variables, "REDIS_URL=map[Fn::Join:[ [rediss:// map[Ref:Host] :6379]]]")
	check.Contains(t, got.statements, "secretsmanager:GetSecretValue")
}

func TestRedisStoreRefuses(t *testing.T) {
	wantRefusals(t, map[string]func(site, *RedisStoreProps){
		"":                             func(_ site, p *RedisStoreProps) {},
		"Host: it is required":         func(_ site, p *RedisStoreProps) { p.Host = "" },
		"is more than a name":          func(_ site, p *RedisStoreProps) { p.Host = "redis://cache.example.com" },
		"the endpoint of the replicas": func(_ site, p *RedisStoreProps) { p.Host = "replica.cache.example.com" },
		"-ro.a1.ng.0001.euw1.cache.amazonaws.com\" is the endpoint of the replicas": func(_ site, p *RedisStoreProps) {
			p.Host = "shop-ro.a1.ng.0001.euw1.cache.amazonaws.com"
		},
		"is that of a serverless cache":                 func(_ site, p *RedisStoreProps) { p.Host = "shop-a1.serverless.euw1.cache.amazonaws.com" },
		"MemoryDB, ReplicationGroup: state one of them": func(_ site, p *RedisStoreProps) { p.MemoryDB = "log" },
		"state a name, and not an ARN": func(_ site, p *RedisStoreProps) {
			p.ReplicationGroup = "arn:aws:elasticache:eu-west-1:111122223333:serverlesscache:cache"
		},
		"MaxMemoryPolicy: ElastiCache evicts records by default": func(_ site, p *RedisStoreProps) { p.MaxMemoryPolicy = "" },
		"MaxMemoryPolicy: with volatile-lru":                     func(_ site, p *RedisStoreProps) { p.MaxMemoryPolicy = "volatile-lru" },
		"Secret, User: state one of them":                        func(_ site, p *RedisStoreProps) { p.User = "" },
		"Server: it is required":                                 func(_ site, p *RedisStoreProps) { p.Server = nil },
	}, func(change func(site, *RedisStoreProps)) {
		s := newSite(t)
		p := s.redis(nil)
		change(s, p)
		NewRedisStore(s.stack, "Store", p)
	})
}
