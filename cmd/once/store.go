package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/checked"
)

// storeFlags name the store of the records.
type storeFlags struct {
	table    string
	dynamodb dynamodbFlags
	postgres postgresFlags
	redis    redisFlags
	waits    waits
	skew     time.Duration
	json     bool
}

func (o *storeFlags) add(f *flag.FlagSet) {
	o.dynamodb.add(f, &o.table)
	o.postgres.add(f)
	o.redis.add(f)
	o.waits.add(f)
}

// addView adds the flags of the commands that show records.
func (o *storeFlags) addView(f *flag.FlagSet) {
	durationVar(f, &o.skew, "clock-skew", time.Second, "Config.ClockSkew of the functions, a `duration`: a lease is live for so much longer")
	f.BoolVar(&o.json, "json", false, "write JSON")
}

type kind string

const (
	ofDynamoDB kind = "DynamoDB"
	ofPostgres kind = "PostgreSQL"
	ofRedis    kind = "Redis"
)

func (o *storeFlags) kind() kind {
	switch {
	case o.postgres.connection != "":
		return ofPostgres
	case o.redis.url != "":
		return ofRedis
	}
	return ofDynamoDB
}

// flagOf is the flag that selects a kind.
var flagOf = map[kind]string{ofPostgres: "--postgres", ofRedis: "--redis"}

// flagKinds are the kinds whose stores a flag is for.
var flagKinds = map[string]kind{
	"attribute": ofDynamoDB, "endpoint": ofDynamoDB, "group": ofDynamoDB, "native": ofDynamoDB, "partition": ofDynamoDB, "profile": ofDynamoDB,
	"region": ofDynamoDB, "shards": ofDynamoDB, "sort-key": ofDynamoDB, "schema": ofPostgres, "column": ofPostgres, "key-prefix": ofRedis, "cluster": ofRedis,
}

// check refuses flags for a different store, so that none is ignored, and sets the default
// table of PostgreSQL.
func (o *storeFlags) check(c *call) (err error) {
	o.waits.to, o.waits.redraw = c.err, isTerminal(c.err)
	c.Visit(func(g *flag.Flag) {
		chosen := o.kind()
		is, found := flagKinds[g.Name]
		switch {
		case err != nil:
		case (g.Name == "postgres" || g.Name == "redis") && g.Value.String() == "":
			err = endf(codeUsage, "--%s is empty; is a variable unset?", g.Name)
		case o.postgres.connection != "" && o.redis.url != "":
			err = endf(codeUsage, "--postgres excludes --redis")
		case g.Name == "table" && chosen == ofRedis:
			err = endf(codeUsage, "--table excludes --redis: see --key-prefix")
		case !found || is == chosen:
		case is == ofDynamoDB:
			err = endf(codeUsage, "--%s is for DynamoDB, and excludes %s", g.Name, flagOf[chosen])
		default:
			err = endf(codeUsage, "--%s needs %s", g.Name, flagOf[is])
		}
	})
	if err == nil && o.skew < 0 { // which would end leases early
		err = endf(codeUsage, "--clock-skew is negative")
	}
	if err == nil && o.waits.timeout <= 0 {
		err = endf(codeUsage, "--timeout is not more than 0")
	}
	if o.kind() == ofPostgres {
		o.table = cmp.Or(o.table, "idempotency")
	}
	return err
}

type store struct {
	driver.Operable
	place string        // such as "table records"
	ahead time.Duration // of this machine's clock is the server's
	// check checks the store for functions, and reports whether a call can be tried. id names
	// no record, and group includes the calls of group commit.
	check func(ctx context.Context, id string, group bool, found *findings) bool
	// repair says what a request that failed means, and what to do. err is nil if it had
	// another result than it must.
	repair func(ctx context.Context, err error) (_ verdict, toDo string)
	// size estimates what a scan reads.
	size func(ctx context.Context) (extent, error)
}

// open checks the flags and opens the store. It sends nothing.
func (o *storeFlags) open(ctx context.Context, c *call) (*store, error) {
	if err := o.check(c); err != nil {
		return nil, err
	}
	switch o.kind() {
	case ofPostgres:
		return o.postgres.open(ctx, o.table, &o.waits)
	case ofRedis:
		return o.redis.open(ctx, &o.waits)
	}
	return o.dynamodb.open(ctx, o.table, &o.waits)
}

// now returns the time by the server's clock, once the server has responded: a laptop
// whose clock is ahead would take a live lease for a lapsed one.
func (s *store) now() time.Time { return time.Now().Add(s.ahead) }

func (s *store) observed(at time.Time) { s.ahead = time.Until(at) }

// get reads a record, whether it is sound or not.
func (s *store) get(ctx context.Context, id string) (*record, error) {
	e, err := s.Inspect(ctx, id)
	switch {
	case err != nil:
		return nil, callError(err)
	case e.ID == "":
		return nil, endf(codeNoRecord, "no record %s in %s", printable(id), s.place)
	}
	s.observed(e.At)
	return newRecord(e), nil
}

func isMissing(err error) bool {
	var end *ending
	return errors.As(err, &end) && end.code == codeNoRecord
}

// scan reads the records that f selects page by page from p.next on, and stores none.
func (s *store) scan(ctx context.Context, f driver.Filter, p *progress, each func(*record) error) error {
	defer p.end()
	for {
		page, err := s.Scan(ctx, f, p.next)
		if err != nil {
			return callError(err)
		}
		s.observed(page.At)
		for _, e := range page.Entries {
			if checked.Is(e.ID) {
				continue
			}
			if err := each(newRecord(e)); err != nil {
				return err
			}
		}
		p.page(page.Progress)
		if p.next = page.Next; p.next == "" {
			return nil
		}
	}
}

// callError returns the error of a call. An error that the store returns before it sends
// anything is the user's mistake.
func callError(err error) error {
	var mistakes *driver.ConfigError
	if isInvalid(err) || errors.As(err, &mistakes) {
		return &ending{codeUsage, err}
	}
	return err
}

// apply applies c if the record is as shown, and returns it as written. Otherwise it
// returns an error, and the record as it is now, or nil if it is gone.
func (s *store) apply(ctx context.Context, shown *record, c driver.Change) (*record, error) {
	met, ok, err := s.Apply(ctx, shown.Entry, c)
	var found *record
	if met.ID != "" {
		found = newRecord(met)
	}
	switch known := err == nil || !met.At.IsZero(); {
	case ok, known && isApplied(shown.Record, c, met.Record):
		// The client may have sent the write again, as its first answer did not arrive.
		return found, nil
	case errors.Is(err, driver.ErrNotWritten), isInvalid(err):
		return nil, fmt.Errorf("nothing was written: %w", err)
	case !known:
		return nil, endf(codeUnacknowledged, "the record may have been written; inspect it before you repeat the command: %w", err)
	case err != nil:
		return found, endf(codeUnacknowledged, "the record has changed since it was shown, and may have been written in between; inspect it before you repeat the command")
	}
	return found, endf(codeChanged, "the record has changed since it was shown; nothing was written")
}

func isInvalid(err error) bool {
	var invalid *driver.InvalidWriteError
	return errors.As(err, &invalid)
}

// isApplied reports whether met is r after c. The operator's token, or the traces of a
// release, are enough.
func isApplied(r driver.Record, c driver.Change, met driver.Record) bool {
	switch {
	case c.Release == driver.ReleaseDelete:
		return met.ID == ""
	case c.Release == driver.ReleaseRefund:
		r.Refunds++
	case c.Release == 0:
		return met.Status == c.Status && met.Owner == c.Owner
	}
	return met.Status == driver.InProgress && met.Owner == "" && met.Lease.Equal(driver.LeaseEnded) && met.Attempt == r.Attempt &&
		met.Refunds == r.Refunds && met.Expires.Equal(r.Expires) && met.Fingerprint == r.Fingerprint && len(met.Steps) == len(r.Steps)
}
