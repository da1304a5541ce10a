package store

import (
	"cmp"
	"context"
	"flag"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
)

type Flags struct {
	Table    string
	DynamoDB DynamoDBFlags
	Postgres postgresFlags
	redis    redisFlags
	Waits    Waits
	Skew     time.Duration
	JSON     bool
}

func (o *Flags) Add(f *flag.FlagSet) {
	o.DynamoDB.add(f, &o.Table)
	o.Postgres.add(f)
	o.redis.add(f)
	o.Waits.Add(f)
}

func (o *Flags) AddView(f *flag.FlagSet) {
	o.AddSkew(f)
	f.BoolVar(&o.JSON, "json", false, "write JSON")
}

func (o *Flags) AddSkew(f *flag.FlagSet) {
	cli.DurationVar(f, &o.Skew, "clock-skew", time.Second, "Config.ClockSkew of the functions, a `duration`: a lease is live for so much longer")
}

type kind string

const (
	OfDynamoDB kind = "DynamoDB"
	OfPostgres kind = "PostgreSQL"
	ofRedis    kind = "Redis"
)

func (o *Flags) Kind() kind {
	switch {
	case o.Postgres.Connection != "":
		return OfPostgres
	case o.redis.url != "":
		return ofRedis
	}
	return OfDynamoDB
}

var FlagOf = map[kind]string{OfPostgres: "--postgres", ofRedis: "--redis"}

var flagKinds = map[string]kind{
	"attribute": OfDynamoDB, "endpoint": OfDynamoDB, "group": OfDynamoDB, "native": OfDynamoDB, "partition": OfDynamoDB, "profile": OfDynamoDB,
	"region": OfDynamoDB, "shards": OfDynamoDB, "sort-key": OfDynamoDB, "schema": OfPostgres, "key-prefix": ofRedis, "cluster": ofRedis,
}

// Check refuses flags for a different store, so that none is ignored, and sets the default
// table of PostgreSQL.
func (o *Flags) Check(c *cli.Call) (err error) {
	c.Visit(func(g *flag.Flag) {
		chosen := o.Kind()
		is, found := flagKinds[g.Name]
		switch {
		case err != nil:
		case (g.Name == "postgres" || g.Name == "redis") && g.Value.String() == "":
			err = cli.Endf(cli.CodeUsage, "--%s is empty; is a variable unset?", g.Name)
		case o.Postgres.Connection != "" && o.redis.url != "":
			err = cli.Endf(cli.CodeUsage, "--postgres excludes --redis")
		case g.Name == "table" && chosen == ofRedis:
			err = cli.Endf(cli.CodeUsage, "--table excludes --redis: see --key-prefix")
		case !found || is == chosen:
		case is == OfDynamoDB:
			err = cli.Endf(cli.CodeUsage, "--%s is for DynamoDB, and excludes %s", g.Name, FlagOf[chosen])
		default:
			err = cli.Endf(cli.CodeUsage, "--%s needs %s", g.Name, FlagOf[is])
		}
	})
	if err == nil && o.Skew < 0 { // which would end leases early
		err = cli.Endf(cli.CodeUsage, "--clock-skew is negative")
	}
	err = cmp.Or(err, o.Waits.Check(c))
	if o.Kind() == OfPostgres {
		o.Table = cmp.Or(o.Table, "idempotency")
	}
	return err
}

// Open checks the flags and opens the store. It sends nothing.
func (o *Flags) Open(ctx context.Context, c *cli.Call) (*Store, error) {
	if err := o.Check(c); err != nil {
		return nil, err
	}
	switch o.Kind() {
	case OfPostgres:
		return o.Postgres.open(ctx, o.Table, &o.Waits)
	case ofRedis:
		return o.redis.open(ctx, &o.Waits)
	}
	return o.DynamoDB.open(ctx, o.Table, &o.Waits)
}
